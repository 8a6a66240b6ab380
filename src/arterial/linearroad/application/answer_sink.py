"""Answers on their way out: lines of the dialect, stamped with the time of emission, in the flat file of the paper."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.connectors.pace import Pace
from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.files.appended import AppendedSink
from arterial.linearroad.formats.answers import ANSWER_SCHEMA, TABLE_OF_TYPE
from arterial.linearroad.formats.dialects import Dialect, encode
from arterial.network.train import Train
from arterial.storage.appended import AppendedFiles

LINES_AT_ONCE = 100_000
"""Few enough that what a line is made of stays in cache."""


def answer_sinks(out: Path, dialect: Dialect, parts: Path, pace: Pace) -> dict[str, AnswerSink]:
    """The sinks of all outputs, by name: they share the flat file, or the files, of the dialect in `out`."""
    files = AppendedFiles({str(kind): out / name for kind, name in dialect.file_names().items()}, parts)
    sink = AnswerSink(files, dialect=dialect, pace=pace)
    return {TABLE_OF_TYPE[kind]: replace(sink, kind=str(kind)) for kind in dialect.types}


@dataclass(frozen=True, kw_only=True)
class AnswerSink(AppendedSink):
    """Writes the answers of one type. Those to seconds before the pace's `begin` are not written."""

    dialect: Dialect
    pace: Pace
    step_ends: dict[int, float] = field(default_factory=dict)
    """When each step was committed by this process, in seconds since 1970."""

    def write(self, delivery: Delivery) -> str | None:
        """Write the part of a slot."""
        if self.pace.begin:
            train = delivery.train
            answers = train.tuples.filter(pl.col("time") >= self.pace.begin)
            delivery = replace(delivery, train=Train(answers, train.through))
        return super().write(delivery)

    def write_lines(self, delivery: Delivery, file: BinaryIO) -> None:
        """Write lines of the dialect; the time of emission is taken when all else is done."""
        answer_type = int(self.kind)
        columns = ANSWER_SCHEMA[answer_type].names
        now = time.time()
        for some in delivery.train.tuples.iter_slices(LINES_AT_ONCE):
            asked = some["time"].to_numpy().astype(np.float64)
            stamped = some.with_columns(pl.Series("emit", self._emitted(asked, now, delivery.born)))
            file.write(encode(answer_type, stamped.select(columns).to_arrow(), self.dialect))

    def commit(self, step: int) -> None:
        """Append the answers of the step, and note when."""
        super().commit(step)
        self.step_ends[step] = time.time()

    def _emitted(self, asked: Array, now: float, born: float) -> Array:
        """When each answer is emitted: the time of its question, and what passed since that was due."""
        return asked + (now - (born if self.pace.runs_freely else self.pace.due(asked)))
