"""Answers on their way out: lines of the dialect, stamped with the time of emission, in the flat file of the paper.

Each slot writes the answers of a step to a part, exactly once; the driver then appends the parts of the step to the
flat file and removes them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.connectors.sink import Delivery, Sink
from arterial.linearroad.application.clock import RunClock
from arterial.linearroad.data.event_files import writing
from arterial.linearroad.formats.answers import ANSWER_SCHEMA
from arterial.linearroad.formats.dialects import Dialect, encode
from arterial.storage.appended import AppendedFiles
from arterial.storage.place import put_in_place, remove

LINES_AT_ONCE = 100_000
"""Few enough that what a line is made of stays in cache."""


@dataclass(frozen=True)
class AnswerSink(Sink):
    """Writes the answers of one type. Those to seconds before the clock's `begin` are not written."""

    answer_type: int
    dialect: Dialect
    parts: Path
    clock: RunClock

    def write(self, delivery: Delivery) -> None:
        """Write the part of a slot; the time of emission is taken when all else is done."""
        answers = delivery.train.tuples
        if self.clock.begin:
            answers = answers.filter(pl.col("time") >= self.clock.begin)
        if answers.is_empty():
            return
        path = self.parts / part_name(delivery.step, self.answer_type, delivery.slot)
        columns = ANSWER_SCHEMA[self.answer_type].names
        now = time.time()

        def lines(file: BinaryIO) -> None:
            for some in answers.iter_slices(LINES_AT_ONCE):
                asked = some["time"].to_numpy().astype(np.float64)
                stamped = some.with_columns(pl.Series("emit", self._emitted(asked, now, delivery.born)))
                file.write(encode(self.answer_type, stamped.select(columns).to_arrow(), self.dialect))

        with writing(path):
            put_in_place(path, lines)

    def _emitted(self, asked: Array, now: float, born: float) -> Array:
        """When each answer is emitted: the time of its question, and what passed since that was due."""
        if self.clock.runs_freely:
            return asked + (now - born)
        pace = self.clock.pace
        due: Array = pace.started + (asked - pace.begin) / pace.speed
        return asked + (now - due)


@dataclass
class FlatFiles:
    """The flat file, or the files, that the parts of all steps are appended to."""

    folder: Path
    dialect: Dialect
    parts: Path

    def __post_init__(self) -> None:
        with writing(self.folder):
            self.parts.mkdir(parents=True, exist_ok=True)
        self.files = {t: self.folder / name for t, name in self.dialect.file_names().items()}
        with writing(self.folder):
            self._appended = AppendedFiles(sorted(set(self.files.values())), self.parts / "journal.json")

    def append(self, step: int) -> None:
        """Append the parts of a step, unless that was done before."""
        parts = sorted(self.parts.glob(f"step-{step:09d}-*.csv"))
        if step > self._appended.step and parts:
            with writing(self.folder):
                self._appended.append(step, ((self._file_of(part), part) for part in parts))
        for part in parts:
            remove(part)

    def _file_of(self, part: Path) -> Path:
        return self.files[int(part.name.split("-")[2])]


def part_name(step: int, answer_type: int, slot: int) -> str:
    """The name of a part; in the order of names, parts are in the order of steps."""
    return f"step-{step:09d}-{answer_type}-{slot:03d}.csv"
