"""The status of a run: its state in one word, who runs it, and how many tuples went in and out; kept as `run.json`.

The file lies in the run's checkpoint and is replaced whole after every step, before Spark commits it. A step that is
run again after a crash has a number that was counted already, so the counts are those of an undisturbed run. A run
whose process was killed cannot say so: its lock, which is gone with the process, tells.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.engine.run.folder import FOLDER
from arterial.engine.run.lock import LOCK_FILE
from arterial.engine.run.states import PAUSED, RUNNING, STATES, STOPPED
from arterial.errors import RunError
from arterial.storage.place import put_in_place

RUN_FILE = "run.json"

_PLACES = (".", "checkpoint", "work/checkpoint", "local")
"""Where the checkpoint lies in the folder of a run: `arterial run`'s, Linear Road's, that of a local run."""


@dataclass(frozen=True)
class Status:
    """What `run.json` says; times are ISO 8601 in UTC."""

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
        self._sources = {box.name for box in plan.sources}
        self.status = Status(
            RUNNING,
            plan.network.name,
            os.getpid(),
            before.started if before else now(),
            None,
            before.step if before else 0,
            {**dict.fromkeys(sorted(self._sources), 0), **(before.tuples_in if before else {})},
            {**{box.name: 0 for box in plan.outputs}, **(before.tuples_out if before else {})},
        )
        self._write()

    def add_step(self, plan: Plan, reports: Iterable[Mapping[str, Any]]) -> None:
        """Count the tuples of a step, unless it was counted before a crash."""
        reports = list(reports)
        step = max((report["step"] for report in reports), default=0)
        if step <= self.status.step:
            return
        tuples_in, tuples_out = dict(self.status.tuples_in), dict(self.status.tuples_out)
        outputs = {box.name for box in plan.outputs}
        for report in reports:
            for name, (came, went, _) in report["boxes"].items():
                if name in self._sources:
                    tuples_in[name] += sum(went.values())
                elif name in outputs:
                    tuples_out[name] = tuples_out.get(name, 0) + sum(came.values())
        self._change(step=step, tuples_in=tuples_in, tuples_out=tuples_out)

    def become(self, state: str, error: str | None = None) -> None:
        """Another state; one that is over has a time at which it was."""
        if state != self.status.state or error != self.status.error:
            over = state not in (RUNNING, PAUSED)
            self._change(state=state, error=error, finished=now() if over else None)

    def _change(self, **changes: Any) -> None:
        self.status = replace(self.status, **changes)
        self._write()

    def _write(self) -> None:
        if self._path is not None:
            put_in_place(self._path, json.dumps(asdict(self.status), indent=2) + "\n")


def read_status(checkpoint: Path) -> Status | None:
    """The status of the run of a checkpoint, or None if there never was one; a killed run is not shown as running."""
    path = checkpoint / RUN_FILE
    if not path.exists():
        return None
    status = _read(path)
    if status.is_active and not _is_locked(checkpoint / FOLDER / LOCK_FILE):
        time.sleep(0.05)  # it may have come to its end between the two looks
        status = _read(path)
        if status.is_active:
            gone = f"process {status.pid} ended without a word: it was killed, or the machine was restarted"
            return replace(status, state=STOPPED, error=gone)
    return status


def find_checkpoint(folder: Path) -> Path:
    """The checkpoint in a folder that a user names: the checkpoint itself, or the output folder of a run."""
    for place in _PLACES:
        if (folder / place / RUN_FILE).exists() and (folder / place / FOLDER).is_dir():
            return folder / place if place != "." else folder
    raise RunError(
        f"{folder}: no run is there; expected the folder given as --out or --checkpoint, with a {RUN_FILE} in it or in "
        f"its {', '.join(_PLACES[1:])}"
    )


def now() -> str:
    """This second, as the file has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> Status:
    try:
        said = json.loads(path.read_text())
        status = Status(**{name: said[name] for name in Status.__dataclass_fields__})
        if status.state not in STATES or not isinstance(status.tuples_in, dict):
            raise ValueError(f"the state is {status.state!r}")
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise RunError(
            f"{path}: is damaged ({type(broken).__name__}: {broken}). Restore it from a copy, or delete it: the run "
            "goes on where it was, and only its counts of tuples begin again."
        ) from None
    return status


def _is_locked(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
