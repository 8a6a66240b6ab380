"""`arterial top`: the figures of a run of another process, refreshed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from arterial.engine.run.figures.status import Status


def top(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    every: float = typer.Option(1.0, min=0.1, help="Seconds from one look to the next."),
    once: bool = typer.Option(False, "--once", help="Look once."),
    as_json: bool = typer.Option(False, "--json", help="Print status.json at every look, a line each."),
) -> None:
    """Show a run while it runs: rates, delays, what waits, where the time goes, state, what is shed and held.

    It ends with the run, or with Ctrl-C; the run knows nothing of it.
    """
    from rich.console import Console
    from rich.live import Live

    from arterial.cli.runtime.run_figures import headline, lines, tables
    from arterial.engine.run.checkpoint.folder import find_checkpoint

    checkpoint, console = find_checkpoint(folder), Console()
    if as_json:
        _look(checkpoint, every, once, lambda status: print(json.dumps(asdict(status)), flush=True))
    elif console.is_terminal and not once:
        with Live(console=console, auto_refresh=False, screen=True) as live:
            last = _look(checkpoint, every, once, lambda status: live.update(tables(status), refresh=True))
        console.print(tables(last))
    elif console.is_terminal:
        _look(checkpoint, every, once, lambda status: console.print(tables(status)))
    else:
        _look(checkpoint, every, once, lambda status: print("\n".join([headline(status), *lines(status)]), flush=True))


def _look(checkpoint: Path, every: float, once: bool, show: Callable[[Status], None]) -> Status:
    """Show the status again and again, until the run is over; the last one."""
    from arterial.engine.run.figures.status import read_status

    while True:
        status = read_status(checkpoint)
        assert status is not None
        show(status)
        if once or not status.is_active:
            return status
        try:
            time.sleep(every)
        except KeyboardInterrupt:
            return status
