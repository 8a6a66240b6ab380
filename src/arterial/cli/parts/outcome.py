"""What a command says of a run while it runs and when it is over: on screen, as JSON, and by its exit code."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from arterial.cli.parts import exit_codes
from arterial.cli.parts.progress import PLAIN_SECONDS, in_words
from arterial.engine.run.figures.status import note_state
from arterial.engine.run.states import FAILED, RUNNING, STOPPED
from arterial.errors import ArterialError

if TYPE_CHECKING:
    from arterial.engine.run.figures.status import Status
    from arterial.engine.run.life import Run

REFRESH_SECONDS = 0.5
JSON_SECONDS = 1.0


def see_through(running: Run, out: Path, *, as_json: bool, resumes: bool, has_outputs: bool = True) -> None:
    """Show a run until it is over, say how it ended, and leave with the exit code of that.

    `out` is its folder, where `run.json` says its state and, if it `has_outputs`, outputs are; `resumes` is whether the
    same command goes on after a stop.
    """
    known = running.notices
    _say_notices(known)
    with stop_on_signals() as asked:
        try:
            _watch(running, asked, as_json, _Noted(running, out))
        except ArterialError:
            if not as_json:
                sys.stderr.write(ending(running.status, resumes=resumes) + "\n")
            raise
        finally:
            _say_notices(notice for notice in running.notices if notice not in known)
    if not as_json:
        aside = running.statistics.rejects
        notes = [f"{aside:,} set aside ({running.checkpoint}/arterial/rejects)"] if aside else []
        sys.stderr.write(ending(running.status, resumes=resumes, notes=notes, out=out if has_outputs else None) + "\n")
    leave(running.status, interrupted=signal.SIGINT in asked)


@contextmanager
def stop_on_signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM only ask for a stop: the list has those that came. Whoever runs looks at it."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending(status: Status, *, resumes: bool, notes: list[str] | None = None, out: Path | None = None) -> str:
    """How a run ended, in words."""
    counts = ", ".join([status.counts, *(notes or [])])
    if status.state == STOPPED:
        then = "goes on from there" if resumes else "begins from the start"
        return f"stopped after step {status.step}: {counts}; the same command {then}"
    if status.state == FAILED:
        return f"failed after step {status.step}: {counts}"
    where = f"; outputs are in {out}" if out else ""
    return f"{status.state}: {counts}{where}"


def leave(status: Status, *, interrupted: bool = False) -> None:
    """End the command with the exit code of a run that is over; one that finished lets it go on."""
    if status.state == STOPPED:
        raise typer.Exit(exit_codes.INTERRUPTED if interrupted else exit_codes.RESUMABLE)


def say_finished(status: Status, as_json: bool) -> None:
    """Say that there is nothing to do: the run was finished before."""
    if as_json:
        typer.echo(json.dumps({"already_finished": True, **asdict(status)}))
    else:
        sys.stderr.write(status.already_finished() + "\n")


def described(running: Run) -> dict[str, Any]:
    """The statistics of a run with its state, and the error of one that failed."""
    said = {"state": running.state, **running.statistics.describe()}
    said["total"] = {"in": dict(running.status.tuples_in), "out": dict(running.status.tuples_out)}
    return {**said, "error": running.status.error} if running.status.error else said


def _say_notices(notices: Iterable[str]) -> None:
    for notice in notices:
        sys.stderr.write(notice + "\n")


class _Noted:
    """Writes the state of a run into its folder when it changes."""

    def __init__(self, running: Run, folder: Path) -> None:
        self._running, self._folder, self._state = running, folder, ""

    def look(self) -> None:
        status = self._running.status
        if status.state != self._state and not self._running.taken_over:
            self._state = status.state
            note_state(self._folder, status)


def _watch(running: Run, asked: list[int], as_json: bool, noted: _Noted) -> None:
    console = Console(stderr=True)
    if as_json:
        _wait(running, asked, lambda: print(json.dumps(described(running)), flush=True), JSON_SECONDS, noted)
    elif console.is_terminal:
        with Live(console=console, refresh_per_second=4) as live:
            _wait(running, asked, lambda: live.update(_table(described(running))), REFRESH_SECONDS, noted)
    else:
        _wait(running, asked, lambda: _say(described(running)), PLAIN_SECONDS, noted)


def _wait(running: Run, asked: list[int], show: Callable[[], None], every: float, noted: _Noted) -> None:
    shown = time.monotonic()
    try:
        noted.look()
        while not running.wait(0.1):
            noted.look()
            if asked:
                running.stop(0.0 if len(asked) > 1 else 60.0)
            if time.monotonic() - shown >= every:
                shown = time.monotonic()
                show()
    finally:
        noted.look()
        with suppress(ArterialError):
            show()


def _headline(said: dict[str, Any]) -> str:
    """State, event time, share, rate and what is left, of `described`."""
    parts = [f"{said['state']}, step {said['step']}"]
    if said["event_time"] is not None:
        parts.append(f"at {said['event_time']}")
    if said["share"] is not None:
        parts.append(f"{100 * said['share']:.0f} % read" if said["held"] else f"{100 * said['share']:.0f} %")
    if said["held"]:
        parts.append(f"{said['held']:,} held tuples wait")
    parts.append(f"{said['tuples_in']:,} tuples in, {said['tuples_out']:,} out, {said['tuples_per_second']:,}/s")
    if said["remaining"] and said["state"] == RUNNING:
        parts.append(f"{in_words(said['remaining'])} left")
    return ", ".join([*parts, f"delay {said['delay']:.2f} s"])


def _say(said: dict[str, Any]) -> None:
    sys.stderr.write(_headline(said) + "\n")
    sys.stderr.flush()


def _table(said: dict[str, Any]) -> Table:
    table = Table("box", "kind", title=Text(f"{said['network']}: {_headline(said)}"))
    for column in ("in", "out", "selectivity", "µs/tuple"):
        table.add_column(column, justify="right")
    for name, box in said["boxes"].items():
        selectivity, cost = box["selectivity"], box["microseconds_per_tuple"]
        table.add_row(
            Text(name),
            box["kind"],
            f"{box['in']:,}",
            f"{box['out']:,}",
            "" if selectivity is None else f"{selectivity:.3g}",
            "" if cost is None else f"{cost:.3g}",
        )
    return table
