"""Updates on their way out, to one file that grows step by step; its journal also keeps how late the lines came."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import polars as pl

from arterial.connectors.pace import Pace
from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.files.appended import AppendedSink
from arterial.moving.application.merging import NOTE, runs_of
from arterial.moving.files.update_file import time_text, write_updates
from arterial.storage.damage import read_json
from arterial.storage.place import put_in_place

BIN = 0.01
"""Delays are counted in classes of so many seconds."""


@dataclass(frozen=True, kw_only=True)
class UpdateSink(AppendedSink):
    """Writes the updates of a step to a part, and beside it how many there are of each instant.

    Where queries are spread, every shard has a part, and the driver merges them.
    """

    pace: Pace
    spread: bool = False
    """Whether the queries were answered in several shards."""

    @property
    def updates(self) -> int:
        """How many updates the file has."""
        return int(self.files.kept.get("updates", 0))

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return sum(self.files.sizes.values())

    def write_lines(self, delivery: Delivery, file: BinaryIO) -> None:
        """Write a line for every update, and the note."""
        updates = delivery.train.tuples
        times = updates["t"].to_numpy()
        begins = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
        counts = np.diff(begins, append=len(times))
        instants = times[begins].tolist()
        texts = pl.Series([time_text(t / self.pace.units) for t in instants])
        write_updates(
            file,
            texts.gather(np.repeat(np.arange(len(begins)), counts)),
            updates["query"],
            updates["sign"].to_numpy(),
            updates["object"],
        )
        said = {"born": delivery.born, "instants": instants, "counts": counts.tolist()}
        part = self.files.part(self.kind, delivery.step, delivery.slot)
        if self.spread:
            runs = runs_of(begins, texts, updates["query"], updates["object"])
            said |= runs.note()
            runs.write(part)
        put_in_place(part.with_suffix(NOTE), json.dumps(said))

    def commit(self, step: int) -> None:
        """Append the updates of the step, and count how late they are, unless that was done before."""
        if step > self.files.step:
            for part in self.files.parts(step):
                said = read_json(part.with_suffix(NOTE))
                self._count_delays(said["born"], said["instants"], said["counts"])
        super().commit(step)

    def delay(self, share: float) -> float:
        """The delay that so large a share of the updates did not exceed, in seconds."""
        delays = {int(late): count for late, count in self.files.kept.get("delays", {}).items()}
        wanted, so_far = share * self.updates, 0
        for late in sorted(delays):
            so_far += delays[late]
            if so_far >= wanted:
                return round(late * BIN, 2)
        return 0.0

    def _count_delays(self, born: float, instants: list[int], counts: list[int]) -> None:
        """Count in the journal how many updates were so many hundredths of a second late."""
        now, kept = time.time(), self.files.kept
        delays = kept.setdefault("delays", {})
        for instant, count in zip(instants, counts, strict=True):
            due = born if self.pace.runs_freely else self.pace.due(instant)
            late = str(max(0, round((now - due) / BIN)))
            delays[late] = delays.get(late, 0) + count
            kept["updates"] = kept.get("updates", 0) + count
