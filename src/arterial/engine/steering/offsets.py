"""Plans steps: how far each source goes next, and the command in force. The offset has both, and Spark logs it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arterial.connectors.source import Ask, Progress, Source, Span
from arterial.engine.steering.control import Control, apply, read_control
from arterial.network.train import END
from arterial.storage.place import put_in_place

Offset = dict[str, Any]
"""Positions of all sources, the step's number and birth, and what was done about control: what JSON can hold."""

ENDED, STOPPED = "ended", "stopped"
"""Marker files: all is read and done; the run was asked to stop and did, between two steps."""


def first_offset(sources: Mapping[str, Source], folder: Path) -> Offset:
    """Where all sources begin; the same whenever Spark asks, or it would take two of its answers for a step."""
    begins = {name: source.begin() for name, source in sources.items()}
    return _offset(0, 0.0, begins, 0, read_control(folder), {})


def next_offset(sources: Mapping[str, Source], start: Offset, folder: Path, train_size: int, stops: int) -> Offset:
    """How far the next step goes; the same offset again if there is nothing to do, or the run is paused.

    Spark asks for the next step only when the one before is committed; so here is known when all is done.
    """
    control = read_control(folder)
    if is_at_end(start):
        _mark(folder / ENDED)
        return start
    if control.stop > stops:
        _mark(folder / STOPPED)
        return start
    goes_on, used = apply(control, start["steps used"])
    before = progress_of(start)
    now = time.time()
    after = plan_step(sources, before, train_size, now) if goes_on else before
    if after == before:
        return start
    return _offset(start["step"] + 1, now, after, used, control, reached(sources, after, now))


def plan_step(
    sources: Mapping[str, Source], before: Mapping[str, Progress], train_size: int, now: float
) -> dict[str, Progress]:
    """How far each source goes in the next step, so that none runs ahead of another in time."""
    size = max(1, train_size // max(1, len(sources)))
    leading = {name: source for name, source in sources.items() if not source.keeps_up}
    after = {name: source.plan(before[name], Ask(now, size)) for name, source in leading.items()}
    moved = [progress.through for name, progress in after.items() if progress != before[name]]
    if len(leading) > 1 and moved:
        until = min(moved)
        for name, progress in after.items():
            if progress.through > until and progress != before[name]:
                after[name] = sources[name].plan(before[name], Ask(now, size, until))
    reached = min((progress.through for progress in after.values()), default=END)
    keeping_up = {n: s.plan(before[n], Ask(now, size, reached)) for n, s in sources.items() if s.keeps_up}
    return {name: keeping_up.get(name) or after[name] for name in sources}


def reached(sources: Mapping[str, Source], after: Mapping[str, Progress], now: float) -> dict[str, Any]:
    """How far a step brings each source: its time, the share that is then read, and what still waits."""
    return {
        "waiting": {name: source.waiting(after[name], now) for name, source in sources.items()},
        "share": {name: source.share(after[name]) for name, source in sources.items()},
        "through": {name: after[name].through for name in sources},
    }


def progress_of(offset: Offset) -> dict[str, Progress]:
    """The positions of all sources in an offset."""
    return {name: Progress(source["at"], source["through"]) for name, source in offset["sources"].items()}


def spans_of(start: Offset, end: Offset) -> dict[str, Span]:
    """What the step between two offsets reads of each source."""
    before, after = progress_of(start), progress_of(end)
    return {name: Span(before[name], after[name]) for name in after}


def is_at_end(offset: Offset) -> bool:
    """Whether all sources of an offset are at their end."""
    return all(source["through"] == END for source in offset["sources"].values())


def _offset(
    step: int,
    born: float,
    sources: Mapping[str, Progress],
    used_steps: int,
    control: Control,
    said: Mapping[str, Any],
) -> Offset:
    return {
        "step": step,
        "born": born,
        "steps used": used_steps,
        "version": control.version,
        "reached": dict(said),
        "sources": {name: {"at": p.position, "through": p.through} for name, p in sources.items()},
    }


def _mark(path: Path) -> None:
    if not path.exists():
        put_in_place(path, b"")
