"""`arterial linear-road history`: the ten weeks before, for the vehicles of a data set or for a number of them."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path

import typer

from arterial.errors import DataError


class Form(StrEnum):
    """How tables are written."""

    PARQUET = "parquet"
    CSV = "csv"


def history(
    out: Path = typer.Option(..., "--out", help="The folder to write to; made if it is not there."),
    data: Path | None = typer.Option(
        None, "--data", help="Make the history of the vehicles and expressways of this data set."
    ),
    vehicles: int | None = typer.Option(
        None, "--vehicles", min=1, help="Instead of --data: this many vehicles, numbered from 0."
    ),
    xways: int | None = typer.Option(
        None, "--xways", min=1, help="Without --data: this many expressways, numbered from 0.", show_default="1"
    ),
    tolls: Path | None = typer.Option(
        None, "--tolls", help="Use this TollHistory (any CSV or Parquet file) instead of making one."
    ),
    segments: Path | None = typer.Option(
        None, "--segments", help="Use this SegmentHistory (any CSV or Parquet file) instead of making one."
    ),
    seed: int = typer.Option(1, "--seed", min=0, max=2**63 - 1, help="The same seed makes the same history."),
    form: Form = typer.Option(Form.PARQUET, "--format", help="How to write the tables."),
    force: bool = typer.Option(False, "--force", help="Replace a history that is already in the folder."),
    json_output: bool = typer.Option(False, "--json", help="Print what was made as JSON."),
) -> None:
    """Make TollHistory, SegmentHistory and the look-up form of both that a stream uses.

    TollHistory has a row for every vehicle, each of days 1 to 69 and every expressway that the vehicle uses or asks for
    (with --vehicles: every expressway). SegmentHistory has a row for every minute of 70 days and every segment in both
    directions: 20.16 million an expressway.
    """
    if tolls is None and (data is None) == (vehicles is None):
        raise DataError("history: give either --data DIR, or --vehicles N (with --xways L), or --tolls FILE.")
    if tolls is not None and vehicles is not None:
        raise DataError("history: --vehicles does not go with --tolls; the vehicles are those of that file.")
    if data is not None and xways is not None:
        raise DataError("history: --xways does not go with --data; the expressways are those of the data set.")

    from dataclasses import replace

    from arterial.cli.parts.progress import Bar
    from arterial.engine.spark.session import spark_session
    from arterial.linearroad.history.make import counted, make_history
    from arterial.linearroad.history.wanted import wanted_by

    started = time.monotonic()
    spark = spark_session("history")
    wanted = wanted_by(spark, data) if data is not None else counted(vehicles or 0, xways or 1)
    wanted = replace(wanted, tolls=tolls, segments=segments)
    with Bar("history", total=wanted.rows, unit="rows", quiet=json_output) as bar:
        facts = make_history(spark, wanted, out, seed=seed, form=form.value, force=force, progress=bar.to)
    seconds = time.monotonic() - started
    if json_output:
        typer.echo(json.dumps({"out": str(out), **asdict(facts), "seconds": round(seconds, 3)}, indent=2))
        return
    share = f", toll above 0 in {100 * facts.tolled_share:.1f} %" if facts.tolled_share is not None else ""
    repeated = f", {facts.repeated_tolls:,} others replaced by a later one" if facts.repeated_tolls else ""
    typer.echo(
        f"{out}: {facts.vehicles:,} vehicles, {len(facts.xways)} expressway(s), in {seconds:.1f} s\n"
        f"  TollHistory     {facts.toll_rows:>14,} rows{repeated}\n"
        f"  SegmentHistory  {facts.segment_rows:>14,} rows, mean LAV {facts.mean_lav:.1f} mph, "
        f"mean count {facts.mean_cnt:.1f}{share}\n"
        f"  look-up form    {out / 'lookup'}"
    )
