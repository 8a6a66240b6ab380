"""`arterial tap`: the tuples of an arc of a running network, as they pass."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.errors import RunError

if TYPE_CHECKING:
    import polars as pl

LOOK_SECONDS = 0.1
RENEW_SECONDS = 1.0
MOST_A_STEP = 1000
"""So many tuples of a step and slot are shown at most: a look, not a copy."""


class Layout(StrEnum):
    """How tuples are printed."""

    CSV = "csv"
    JSON = "json"


def tap(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    arc: str = typer.Argument(help="The arc: box, box.port or 'a → b' (also 'a -> b')."),
    where: str | None = typer.Argument(None, help="Only tuples for which this expression is true."),
    limit: int | None = typer.Option(None, min=1, help="End after so many tuples."),
    layout: Layout = typer.Option(Layout.CSV, "--format", help="csv, or json: a line of JSON for each tuple."),
) -> None:
    """Print tuples of an arc as they pass, from another process than the run's.

    It is a look on, not a copy: at most 1,000 tuples of a step and slot are shown, and the run never waits for it. It
    begins with the next step and ends with the run, after --limit tuples, or with Ctrl-C. There may be several taps.
    """
    from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
    from arterial.engine.run.figures.status import read_status
    from arterial.engine.steering.arcs import check_predicate, find_arc, read_arcs
    from arterial.engine.steering.taps import close_tap, open_tap, renew_tap, take_tapped
    from arterial.figures.steering import Tap

    checkpoint = find_checkpoint(folder)
    found = find_arc(arc, read_arcs(checkpoint / FOLDER))
    check_predicate(found, where)
    status = read_status(checkpoint)
    if status is None or not status.is_active:
        raise RunError(f"{folder}: the run is {status.state if status else 'not there'}; nothing passes any more")
    own = open_tap(checkpoint / FOLDER, Tap(found.name, where, min(limit or MOST_A_STEP, MOST_A_STEP)))
    seen: set[str] = set()
    shown, renewed = 0, time.monotonic()
    try:
        while True:
            active = (again := read_status(checkpoint)) is not None and again.is_active
            for tuples in take_tapped(own, seen):
                some = tuples if limit is None else tuples.head(limit - shown)
                _print(some, layout, header=shown == 0)
                shown += some.height
                if shown == limit:
                    return
            if not active:
                return
            if time.monotonic() - renewed >= RENEW_SECONDS:
                renewed = time.monotonic()
                renew_tap(own)
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return
    finally:
        close_tap(own)


def _print(tuples: pl.DataFrame, layout: Layout, *, header: bool) -> None:
    from arterial.connectors.sinks.files.json_lines import write_json_lines

    out = sys.stdout.buffer
    if layout is Layout.JSON:
        write_json_lines(tuples, out)
    else:
        out.write(tuples.write_csv(include_header=header).encode())
    out.flush()
