"""`arterial moving run`: a file of events in, the changes of all answers out."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def run(
    events: Path = typer.Argument(..., help="A file of events in time order."),
    out: Path = typer.Option(..., "--out", help="Where to write the updates: t,qid,+|-,object."),
    timeout: float | None = typer.Option(
        None, "--timeout", help="Disconnect an object that has not reported for this long.", show_default="never"
    ),
    cache: float = typer.Option(
        100.0,
        "--cache",
        min=0,
        max=100,
        help="Size of the anticipation cache, in per cent of the conservative one, with which answers are exact.",
    ),
    longest_step: float | None = typer.Option(
        None,
        "--longest-step",
        min=0,
        help="The longest way of an object between two reports, for caches below 100.",
        show_default="measured",
    ),
    lonlat: bool = typer.Option(
        False, "--lonlat", help="x, y are degrees of longitude and latitude; xdist, ydist and distances are metres."
    ),
    rejects: Path | None = typer.Option(
        None, "--rejects", help="Where to put lines that are no events.", show_default="OUT.rejects.csv"
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Run range and nearest-neighbour queries over moving objects, and write every change of their answers.

    An event is one of: t,object,id,x,y · t,range,qid,x1,y1,x2,y2 · t,movingrange,qid,focal,xdist,ydist ·
    t,knn,qid,k,x,y · t,movingknn,qid,k,focal · t,drop,qid.
    """
    from arterial.cli.progress import Bar
    from arterial.errors import DataError
    from arterial.moving.run import run_file
    from arterial.moving.space import Space

    if timeout is not None and not timeout > 0:
        raise DataError(f"--timeout must be more than 0, not {timeout:g}. Leave it out to keep objects for ever.")
    if not events.is_file():
        raise DataError(f"{events}: there is no such file. Name a file of events, one a line.")
    rejects = rejects or out.with_name(out.name + ".rejects.csv")
    with Bar("moving", total=events.stat().st_size, unit="bytes", quiet=json_output) as bar:
        summary = run_file(
            events,
            out,
            rejects=rejects,
            space=Space.LONLAT if lonlat else Space.PLANE,
            timeout=timeout,
            cache=cache,
            longest_step=longest_step,
            progress=bar.advance,
        )
    if json_output:
        typer.echo(json.dumps(asdict(summary), indent=2))
        return
    typer.echo(
        f"{summary.reports:,} reports and {summary.queries:,} query events in {summary.time_units:,} time units: "
        f"{summary.updates:,} updates in {out}, {summary.seconds:.1f} s"
    )
    if cache < 100:
        typer.echo(f"accuracy with a cache of {cache:g} %: {summary.accuracy:.4f}")
    if summary.rejects:
        typer.echo(f"{summary.rejects:,} lines are no events: see {rejects}", err=True)
