"""Updates on their way out: the task writes the lines of a step to a part, the driver appends the part to the file.

The journal of the file also keeps how late the lines came.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.errors import RunError
from arterial.moving.application.clock import EventClock
from arterial.moving.files.update_file import time_text, write_updates
from arterial.storage.appended import AppendedFiles
from arterial.storage.place import put_in_place, remove

BIN = 0.01
"""Seconds by which delays are told apart."""


@dataclass(frozen=True)
class UpdateSink(Sink):
    """Writes the updates of a step to a part, and beside it how many there are of each instant."""

    parts: Path
    ticks: int

    def write(self, delivery: Delivery) -> None:
        """Write the part; a step that is run again writes the same."""
        updates = delivery.train.tuples
        if updates.is_empty():
            return
        times = updates["t"].to_numpy()
        begins = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
        counts = np.diff(begins, append=len(times))
        instants = times[begins].tolist()
        texts = pl.Series([time_text(t / self.ticks) for t in instants])
        part = self.parts / part_name(delivery.step)
        said = {"born": delivery.born, "instants": instants, "counts": counts.tolist()}

        def lines(file: BinaryIO) -> None:
            write_updates(
                file,
                texts.gather(np.repeat(np.arange(len(begins)), counts)),
                updates["query"],
                updates["sign"].to_numpy(),
                updates["object"],
            )

        try:
            put_in_place(part.with_suffix(".json"), json.dumps(said))
            put_in_place(part, lines)
        except OSError as fault:
            raise _cannot_write(part, fault) from None


@dataclass
class UpdateFile:
    """The file of updates, to which the parts of all steps are appended, each once."""

    path: Path
    parts: Path
    clock: EventClock
    updates: int = 0
    delays: dict[int, int] = field(default_factory=dict)
    """How many updates were so many hundredths of a second late."""

    def __post_init__(self) -> None:
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            self._appended = AppendedFiles([self.path], self.parts / "journal.json")
        except OSError as fault:
            raise _cannot_write(Path(fault.filename or self.path), fault) from None
        self.updates = self._appended.kept.get("updates", 0)
        self.delays = {int(late): count for late, count in self._appended.kept.get("delays", {}).items()}

    @property
    def step(self) -> int:
        """The last step whose updates are in the file."""
        return self._appended.step

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self._appended.sizes[self.path.name]

    def append(self, step: int) -> None:
        """Append the part of a step, unless that was done before."""
        part = self.parts / part_name(step)
        if not part.exists():
            return
        try:
            if step > self.step:
                self._count_delays(**json.loads(part.with_suffix(".json").read_text()))
                kept = {"updates": self.updates, "delays": self.delays}
                self._appended.append(step, [(self.path, part)], kept)
            remove(part)
            remove(part.with_suffix(".json"))
        except OSError as fault:
            raise _cannot_write(self.path, fault) from None

    def delay(self, share: float) -> float:
        """The delay that so large a share of the updates did not exceed, in seconds."""
        wanted, so_far = share * self.updates, 0
        for late in sorted(self.delays):
            so_far += self.delays[late]
            if so_far >= wanted:
                return round(late * BIN, 2)
        return 0.0

    def _count_delays(self, born: float, instants: list[int], counts: list[int]) -> None:
        now = time.time()
        for instant, count in zip(instants, counts, strict=True):
            due = born if self.clock.runs_freely else self.clock.due(instant)
            late = max(0, round((now - due) / BIN))
            self.delays[late] = self.delays.get(late, 0) + count
            self.updates += count


def part_name(step: int) -> str:
    """The name of the part of a step."""
    return f"step-{step:09d}.csv"


def _cannot_write(path: Path, fault: OSError) -> RunError:
    return RunError(
        f"{path}: cannot be written: {fault.strerror or fault}. Nothing is lost: make room or mend the folder, then "
        "start again with the same --checkpoint."
    )
