"""`arterial linear-road drive`: deliver a data set to any system, each tuple at its time."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import typer

from arterial.cli.parts.progress import Bar


def drive(
    data: Path = typer.Option(..., help="The events: a data set's folder, or any CSV or Parquet file."),
    to: str = typer.Option(
        ...,
        help="Where to: a folder (a file a second), - (standard output), tcp://HOST:PORT or kafka://HOST:PORT/TOPIC.",
    ),
    speed: str = typer.Option("1", help="1 is real time, a factor is faster or slower, max does not wait."),
    begin: int = typer.Option(0, "--from", help="The first second to deliver; it is due at the start."),
    until: int | None = typer.Option(None, help="The second before which to stop.", show_default="the end"),
    replicate: int = typer.Option(1, help="Repeat the expressways this many times, with disjoint vehicles and ids."),
    start_on: Path | None = typer.Option(
        None, help="Begin when this file appears. The connection of a TCP client counts, too."
    ),
    start_file: Path | None = typer.Option(
        None, help="Write here, before the first line, when second 0 was due, in seconds since 1970: the clock of Emit."
    ),
    record: Path | None = typer.Option(None, help="Write here when each second was due and delivered (CSV)."),
    end_marker: bool = typer.Option(
        True, help="After the last tuple send the line #end (standard output and TCP), by which a receiver knows it."
    ),
    json_output: bool = typer.Option(
        False, "--json", help="Print the outcome as JSON (on standard error with --to -)."
    ),
) -> None:
    """Deliver every tuple at its time to any system: to a folder, standard output, a TCP port or a topic.

    Second t is delivered whole, t seconds after the start. The record's times are seconds since 1970.
    """
    from arterial.connectors.live.ending import MARKER
    from arterial.connectors.pace import parse_speed
    from arterial.errors import ArterialError
    from arterial.linearroad.data.dataset import open_data
    from arterial.linearroad.data.event_files import writing
    from arterial.linearroad.data.replicate import Replication
    from arterial.linearroad.drive.driver import drive as run_drive
    from arterial.linearroad.drive.driver import target_of

    factor = parse_speed(speed)
    opened = open_data(data)
    last = opened.last_second + 1 if until is None else until
    if not 0 <= begin <= last:
        raise ArterialError(f"--from {begin} does not lie before the end of the data at second {last}")
    replication = Replication.of(opened, replicate)
    target = target_of(to, lambda said: typer.echo(said, err=True), MARKER if end_marker else None)
    with (
        writing(record or Path()),
        record.open("w") if record else nullcontext() as recorded,
        Bar("driving", total=last - begin, unit="seconds of data", quiet=json_output) as bar,
    ):
        done = run_drive(
            opened,
            target,
            speed=factor,
            begin=begin,
            until=last,
            replication=replication,
            record=recorded,
            start_on=start_on,
            start_file=start_file,
            progress=bar.to,
        )
    out = sys.stderr if to == "-" else sys.stdout
    if json_output:
        out.write(json.dumps(asdict(done)) + "\n")
    else:
        out.write(f"delivered {done.events:,} events in {done.seconds:,} seconds of data; ")
        out.write(f"the latest second was {done.worst_delay:.3f} s behind its time\n")
