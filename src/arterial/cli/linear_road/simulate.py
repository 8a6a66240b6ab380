"""`arterial linear-road simulate`: make a data set of Linear City's traffic."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer

from arterial.linearroad.semantics.city import RUN_SECONDS


def simulate(
    out: Path = typer.Option(..., "--out", help="Folder for the data set; it must be new or empty."),
    xways: float = typer.Option(
        1.0, "--xways", help="Number of expressways, in steps of 0.5; a half one has its eastbound direction only."
    ),
    seconds: int = typer.Option(RUN_SECONDS, "--seconds", help="Length of the data in seconds."),
    seed: int = typer.Option(1, "--seed", help="The same seed and options give the same data, byte for byte."),
    density: float = typer.Option(
        1.0, "--density", help="Vehicles that want to enter, as a multiple of the paper's 14 or so a second."
    ),
    start_at: int = typer.Option(
        0,
        "--start-at",
        metavar="SECOND",
        help="Begin with the road as it is at this second of the rush hour, so that a short run sees its peak (9000 is "
        "good). The traffic before it is simulated and not written; the reports are exactly those of a long run from "
        "that second on, with times counted from 0. Vehicles already on the road then begin in the middle of their "
        "trip, not on an entrance ramp.",
    ),
    format: str = typer.Option(
        "parquet", "--format", help="parquet: a file an expressway; csv: one file of 15 integers a line, as the paper."
    ),
    force: bool = typer.Option(False, "--force", help="Replace the data set that is in the folder."),
    json_output: bool = typer.Option(False, "--json", help="Print what was made as JSON, and no progress."),
) -> None:
    """Simulate the traffic of Linear City, every vehicle on its own, and write its reports and requests.

    One expressway of three hours is 11 to 13 million position reports and 1.2 % of that in requests. It runs on Spark,
    a task an expressway.
    """
    from arterial.cli.parts.progress import Bar
    from arterial.engine.spark.session import spark_session
    from arterial.linearroad.simulate.job import check_target
    from arterial.linearroad.simulate.job import simulate as make_data
    from arterial.linearroad.simulate.settings import Settings

    settings = Settings(xways, seconds, seed, density, start_at, format)
    check_target(out, force=force)
    city = make_data(spark_session("linear-road simulate"), settings, out, partial(Bar, quiet=json_output), force=force)
    if json_output:
        typer.echo(json.dumps(asdict(city), indent=2))
    else:
        requests = city.balance_requests + city.expenditure_requests + city.travel_time_requests
        typer.echo(
            f"{out}: {city.reports:,} reports and {requests:,} requests of {city.vehicles:,} vehicles on "
            f"{city.xways:g} expressway(s) in {city.seconds:,} s, {len(city.accidents)} accident(s)"
        )
