"""Plans steps: how far each source goes next, and the steering record. The offset has both, and Spark logs it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arterial.connectors.source import Ask, Progress, Source, Span
from arterial.engine.steering.control import Control, apply, read_control
from arterial.engine.steering.decisions import Decision, read_decision
from arterial.engine.steering.taps import fresh_taps
from arterial.figures.steering import Steering
from arterial.network.train import END
from arterial.storage.place import put_in_place

Offset = dict[str, Any]
"""Positions of all sources, the step's number and birth, how many single steps are used, and the steering record."""

BEGIN_FILE = "begin.json"
"""The offset that Spark's log begins with, where the run was given another number of shards in between."""

ENDED, STOPPED = "ended", "stopped"
"""Marker files: all is read and done; the run was asked to stop and did, between two steps."""


def first_offset(sources: Mapping[str, Source], folder: Path) -> Offset:
    """Where all sources begin; the same whenever Spark asks, or it would take two of its answers for a step."""
    if (folder / BEGIN_FILE).exists():
        begin: Offset = json.loads((folder / BEGIN_FILE).read_text())
        return begin
    begins = {name: source.begin() for name, source in sources.items()}
    return _offset(0, 0.0, begins, 0, Steering(read_control(folder).version), {})


def next_offset(sources: Mapping[str, Source], start: Offset, folder: Path, train_size: int, stops: int) -> Offset:
    """How far the next step goes; the same offset again if there is nothing to do, or the run is paused.

    Spark asks for the next step only when the one before is committed; so here is known when all is done. While tuples
    wait in queues that may go on, steps are planned even if the sources have nothing to read. The last step waits until
    the queues are empty, and holds nothing back.
    """
    if is_at_end(start):
        _mark(folder / ENDED)
        return start
    control = read_control(folder)
    if control.stop > stops:
        _mark(folder / STOPPED)
        return start
    goes_on, used = apply(control, start["steps used"])
    if not goes_on:
        return start
    decision, before, now = read_decision(folder), progress_of(start), time.time()
    after = plan_step(sources, before, train_size, now, decision.steering.admit)
    ends = all(progress.through == END for progress in after.values())
    if ends and decision.held:
        after = before
    steering = steering_of(control, decision, train_size, ends=ends)
    if after == before and not any(steering.hold.get(arc) for arc in decision.held):
        return start
    history: dict[str, str] = {}
    for version in range(Steering.from_json(start["steering"]).version + 1, control.version + 1):
        history |= control.history.get(str(version), {})  # this is the first step since that version was asked for
    steering = replace(steering, tap=fresh_taps(folder), history=history)
    return _offset(start["step"] + 1, now, after, used, steering, reached(sources, before, after, now))


def steering_of(control: Control, decision: Decision, train_size: int, *, ends: bool = False) -> Steering:
    """The record of the next step, without taps: what controllers decided, and before it what a user asked for.

    A queue that is held no longer, or behind sources that come to their end, is let through in steps of a size that a
    step can bear, and which grows with the queue so that it gets empty.
    """
    decided = decision.steering
    hold = {} if ends else {**decided.hold, **control.hold}
    for arc, waiting in decision.held.items():
        hold.setdefault(arc, max(2 * train_size, waiting // 4))
    return Steering(control.version, decided.admit, hold, {**decided.shed, **control.shed})


def plan_step(
    sources: Mapping[str, Source],
    before: Mapping[str, Progress],
    train_size: int,
    now: float,
    admit: Mapping[str, int] | None = None,
) -> dict[str, Progress]:
    """How far each source goes in the next step, so that none runs ahead of another in time.

    `admit` says for some sources how many tuples they give, and for the others the train size does.
    """
    usual = max(1, train_size // max(1, len(sources)))
    size = {name: max(1, (admit or {}).get(name, usual)) for name in sources}
    leading = {name: source for name, source in sources.items() if not source.keeps_up}
    after = {name: source.plan(before[name], Ask(now, size[name])) for name, source in leading.items()}
    moved = [progress.through for name, progress in after.items() if progress != before[name]]
    if len(leading) > 1 and moved:
        until = min(moved)
        for name, progress in after.items():
            if progress.through > until and progress != before[name]:
                after[name] = sources[name].plan(before[name], Ask(now, size[name], until))
    reached = min((progress.through for progress in after.values()), default=END)
    keeping_up = {n: s.plan(before[n], Ask(now, size[n], reached)) for n, s in sources.items() if s.keeps_up}
    return {name: keeping_up.get(name) or after[name] for name in sources}


def reached(
    sources: Mapping[str, Source], before: Mapping[str, Progress], after: Mapping[str, Progress], now: float
) -> dict[str, Any]:
    """How far a step brings each source: its time, the share that is then read, what still waits, and how long the
    oldest tuple of the step had waited by now."""
    return {
        "waiting": {name: source.waiting(after[name], now) for name, source in sources.items()},
        "waited": {name: source.waited(Span(before[name], after[name]), now) for name, source in sources.items()},
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
    steering: Steering,
    said: Mapping[str, Any],
) -> Offset:
    return {
        "step": step,
        "born": born,
        "steps used": used_steps,
        "steering": steering.as_json(),
        "reached": dict(said),
        "sources": {name: {"at": p.position, "through": p.through} for name, p in sources.items()},
    }


def _mark(path: Path) -> None:
    if not path.exists():
        put_in_place(path, b"")
