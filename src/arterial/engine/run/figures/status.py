"""The status of a run: its state in one word, who runs it, its counts and the figures of its last window.

It is kept as `status.json` in the run's checkpoint, replaced whole after every step, before Spark commits it. A
step that is run again after a crash has a number that was counted already, so the counts are those of an undisturbed
run. A run whose process was killed cannot say so: its lock, which is gone with the process, tells.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.engine.run.checkpoint.folder import FOLDER, STATUS_FILE
from arterial.engine.run.checkpoint.lock import LOCK_FILE, is_locked
from arterial.engine.run.states import PAUSED, RUNNING, STATES, STOPPED
from arterial.errors import RunError
from arterial.figures.step import StepFigures
from arterial.storage.place import make_folder, put_in_place

RUN_FILE = "run.json"
"""Where users look first: the state of a run and its counts when the state last changed."""


@dataclass(frozen=True)
class Status:
    """What `status.json` says; times are ISO 8601 in UTC."""

    state: str
    network: str
    pid: int
    started: str
    """When it was started first; a run that goes on after a stop keeps it."""
    finished: str | None = None
    """When it was over: finished, stopped or failed."""
    step: int = 0
    tuples_in: Mapping[str, int] = field(default_factory=dict)
    """Tuples read, by source; of all processes that worked on the run."""
    tuples_out: Mapping[str, int] = field(default_factory=dict)
    """Tuples delivered, by output."""
    error: str | None = None
    network_version: int = 1
    """The version of the network that ran last."""
    restarts: int = 0
    """How many processes took the run up again."""
    boxes: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Of each box the tuples in, the tuples out and the seconds; of all processes, too."""
    shed: Mapping[str, int] = field(default_factory=dict)
    """Tuples left out, by arc."""
    set_aside: int = 0
    steering: Mapping[str, Any] = field(default_factory=dict)
    """What is decided for the next step: `hold`, `shed`, `admit`."""
    window: Mapping[str, Any] = field(default_factory=dict)
    """The figures of the last steps; see docs/runtime/figures.md."""

    @property
    def counts(self) -> str:
        """How many tuples, in words."""
        return f"{sum(self.tuples_in.values()):,} tuples in, {sum(self.tuples_out.values()):,} out"

    @property
    def is_active(self) -> bool:
        """Whether a process is at work on it, or waits for a command."""
        return self.state in (RUNNING, PAUSED)

    def already_finished(self) -> str:
        """What a command says that finds its run finished."""
        at = (self.finished or "").replace("T", " ").replace("+00:00", " UTC")
        return f"already finished, {self.counts}, at {at}; --force starts over"


class StatusFile:
    """Keeps the status of a run; with a path it is written there at every change."""

    def __init__(self, plan: Plan, path: Path | None) -> None:
        before = _read(path) if path is not None and path.exists() else None
        self._path = path
        self.status = Status(
            RUNNING,
            plan.network.name,
            os.getpid(),
            before.started if before else now(),
            None,
            before.step if before else 0,
            {**dict.fromkeys(sorted(box.name for box in plan.sources), 0), **(before.tuples_in if before else {})},
            {**{box.name: 0 for box in plan.outputs}, **(before.tuples_out if before else {})},
            restarts=before.restarts + 1 if before and before.step else 0,
            boxes=before.boxes if before else {},
            shed=before.shed if before else {},
            set_aside=before.set_aside if before else 0,
        )
        self._write(self.status)

    def add_step(self, figures: StepFigures, steering: Mapping[str, Any], window: Mapping[str, Any]) -> None:
        """Count the tuples of a step, unless it was counted before a crash."""
        status = self.status
        if figures.step <= status.step:
            return
        boxes, shed = dict(status.boxes), dict(status.shed)
        for name, box in figures.boxes.items():
            came, went, spent = boxes.get(name, (0, 0, 0.0))
            came, went = came + sum(box.tuples_in.values()), went + sum(box.tuples_out.values())
            boxes[name] = (came, went, round(spent + box.seconds, 6))
        for arc, number in figures.shed.items():
            shed[arc] = shed.get(arc, 0) + number
        tuples_in, tuples_out = dict(status.tuples_in), dict(status.tuples_out)
        for name, source in figures.sources.items():
            tuples_in[name] = tuples_in.get(name, 0) + source.tuples
        for name, output in figures.outputs.items():
            tuples_out[name] = tuples_out.get(name, 0) + output.tuples
        self._change(
            step=figures.step,
            network_version=figures.version,
            tuples_in=tuples_in,
            tuples_out=tuples_out,
            boxes=boxes,
            shed=shed,
            set_aside=status.set_aside + figures.rejects,
            steering=steering,
            window=window,
        )

    def become(self, state: str, error: str | None = None) -> None:
        """Another state; one that is over has a time at which it was."""
        if state != self.status.state or error != self.status.error:
            over = state not in (RUNNING, PAUSED)
            self._change(state=state, error=error, finished=now() if over else None)

    def leave(self) -> None:
        """Write nothing more: the file is another run's."""
        self._path = None

    def _change(self, **changes: Any) -> None:
        changed = replace(self.status, **changes)
        self._write(changed)
        self.status = changed  # last: what this process says of the run, others can read by then

    def _write(self, status: Status) -> None:
        if self._path is not None:
            # Not `asdict`, which copies all of it at every step.
            said = {name: getattr(status, name) for name in Status.__dataclass_fields__}
            put_in_place(self._path, json.dumps(said) + "\n")


def note_state(folder: Path, status: Status) -> None:
    """Write the state of a run where users look for it."""
    make_folder(folder)
    put_in_place(folder / RUN_FILE, json.dumps(asdict(status), indent=2) + "\n")


def read_status(checkpoint: Path, name: str = STATUS_FILE) -> Status | None:
    """The status of the run of a checkpoint, or None if there never was one; a killed run is not shown as running."""
    path = checkpoint / name
    if not path.exists():
        return None
    status = _read(path)
    if status.is_active and not is_locked(checkpoint / FOLDER / LOCK_FILE):
        time.sleep(0.05)  # it may have come to its end between the two looks
        status = _read(path)
        if status.is_active:
            gone = f"process {status.pid} ended without a word: it was killed, or the machine was restarted"
            return replace(status, state=STOPPED, error=gone)
    return status


def now() -> str:
    """This second, as the file has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> Status:
    try:
        said = json.loads(path.read_text())
        status = Status(**{name: said[name] for name in Status.__dataclass_fields__})
        if status.state not in STATES or not isinstance(status.tuples_in, dict):
            raise ValueError(f"the state is {status.state!r}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as broken:
        raise RunError(
            f"{path}: is damaged ({type(broken).__name__}: {broken}). Restore it from a copy, or delete it: the run "
            "goes on where it was, and only its counts of tuples begin again."
        ) from None
    return status
