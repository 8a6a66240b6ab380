"""`arterial linear-road why`: why a vehicle was quoted, charged, alerted, or given a balance or travel time."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from arterial.errors import plain


def why(
    data: Path = typer.Option(
        ..., "--data", help="The input: a data set's folder, or any file or folder of events (Parquet, CSV, .dat)."
    ),
    vehicle: int = typer.Option(..., "--vehicle", help="The vehicle's number, VID."),
    time: int = typer.Option(..., "--time", metavar="SECOND", help="The second of its report or request."),
    profile: str = typer.Option("spec", "--profile", help="The semantics: spec, walmart or thesis2003."),
    tolls: Path | None = typer.Option(
        None, "--tolls", help="TollHistory, a file or a history's folder, for daily expenditures."
    ),
    segments: Path | None = typer.Option(
        None, "--segments", help="SegmentHistory, a file or a history's folder, for travel times."
    ),
    disorder: int = typer.Option(
        0, "--disorder", min=0, metavar="SECONDS", help="How much older than an earlier line a line of input may be."
    ),
    basetoll: int | None = typer.Option(None, "--basetoll", help="Constant of profile thesis2003."),
    basecredit: int | None = typer.Option(None, "--basecredit", help="Constant of profile thesis2003."),
    ftmin: int | None = typer.Option(None, "--ftmin", help="Constant of profile thesis2003."),
    html: Path | None = typer.Option(None, "--html", metavar="PAGE.html", help="Write a page that can be sent."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Say why a vehicle was answered so: the toll quoted, charged or not, the alert, the balance, the travel time.

    With the reports, minutes, means and counts, the accident, and the rules by their numbers
    (docs/linear-road/semantics.md). The numbers are the validator's; only the segments and minutes concerned are read.

    Example: arterial linear-road why --data city --vehicle 107 --time 5432 --html toll.html
    """
    from arterial.linearroad.data.dataset import open_data
    from arterial.linearroad.semantics.profiles import profile as profile_of
    from arterial.linearroad.why.explain import why as explain

    semantics = profile_of(profile, basetoll=basetoll, basecredit=basecredit, ftmin=ftmin)
    said = explain(open_data(data, disorder=disorder), vehicle, time, semantics, tolls=tolls, segments=segments)
    if html is not None:
        from arterial.linearroad.why.page import page_of

        page_of(said).write(html)
    if as_json:
        typer.echo(json.dumps(said.as_data(), indent=2))
    else:
        typer.echo(plain(said))
        if html is not None:
            typer.echo(f"\nThe page: {html}")
