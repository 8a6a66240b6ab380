"""`arterial linear-road convert`: clean events of any origin and write them as Parquet or CSV."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def convert(
    source: Path = typer.Argument(
        ..., metavar="IN", help="A data set's folder, any folder of Parquet, CSV or .dat files, or one such file."
    ),
    out: Path = typer.Option(
        ..., "--out", help="Folder for the data set, new or empty; a name that ends in .csv makes one file instead."
    ),
    format: str = typer.Option(
        "parquet", "--format", help="parquet: a file an expressway; csv: one file of 15 integers a line, as the paper."
    ),
    disorder: int = typer.Option(
        0, "--disorder", min=0, metavar="SECONDS", help="How much older than an earlier line a line may be."
    ),
    rejects: Path | None = typer.Option(
        None, "--rejects", metavar="FILE", help="Where lines set aside go.", show_default="OUT/rejects.csv"
    ),
    force: bool = typer.Option(False, "--force", help="Replace the data set that is in the folder."),
    json_output: bool = typer.Option(False, "--json", help="Print what was found as JSON, and no progress."),
) -> None:
    """Clean events of any origin and write them as a data set.

    Reads our own data sets, the files of 2004 and Walmart's, and any Parquet with the same 15 columns. A line that is
    no event is set aside with its file, number, reason and text; what is valid but irregular is counted.
    """
    from arterial.cli.parts.progress import Bar
    from arterial.connectors.rejects import set_aside
    from arterial.linearroad.data.convert import check_target, rejects_path
    from arterial.linearroad.data.convert import convert as convert_events
    from arterial.linearroad.data.event_sources import files_of

    check_target(out, force=force)
    size = sum(file.stat().st_size for file in files_of(source))
    with Bar("converting", total=size / 1e6, unit="MB", quiet=json_output) as bar:
        done = convert_events(
            source, out, form=format, disorder=disorder, rejects=rejects, force=force,
            progress=lambda size: bar.to(size / 1e6),
        )  # fmt: skip
    if json_output:
        typer.echo(json.dumps({**asdict(done), "out": str(out)}, indent=2))
        return
    xways = f"{len(done.xways)} expressway{'s' if len(done.xways) != 1 else ''}"
    typer.echo(f"{out}: {done.events:,} events on {xways}, seconds {done.first_second:,} to {done.last_second:,}")
    if done.set_aside:
        typer.echo(f"{set_aside(done.set_aside, rejects_path(out, rejects), lines=done.lines)}:")
        for reason, count in done.rejected.items():
            typer.echo(f"  {count:>12,}  {reason}")
    else:
        typer.echo("No line was set aside.")
    if done.blank_lines:
        typer.echo(f"{done.blank_lines:,} lines were blank.")
    if irregular := done.early_reports + done.off_ramp_reports:
        typer.echo(
            f"{irregular:,} reports are irregular: {done.early_reports:,} less than 30 s after the one before, "
            f"{done.off_ramp_reports:,} of vehicles that appear off the entrance ramp."
        )
