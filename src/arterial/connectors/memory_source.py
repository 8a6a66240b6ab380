"""A source of trains that lie in memory, for tests and examples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import polars as pl

from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.network.keys.slots import pieces, split
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train


class MemorySource(Source):
    """Gives one train after the other, one each step.

    The trains must be in order and complete, as those of `Train` on an ordered stream; else use `ArrivingSource`.
    """

    def __init__(self, trains: Iterable[Train]) -> None:
        self.trains = tuple(trains)
        self._schema: Schema | None = None

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> MemorySource:
        """Remember the schema."""
        self._schema = schema
        return self

    def begin(self) -> Progress:
        """Before the first train."""
        return Progress({"train": 0}, BEGIN if self.trains else END)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """The next train."""
        at = before.position["train"]
        if at == len(self.trains):
            return before
        last = at + 1 == len(self.trains)
        return Progress({"train": at + 1}, END if last else self.trains[at].through)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A part of the train."""
        if before.position == after.position:
            assert self._schema is not None
            return self._schema.empty()
        tuples = self.trains[before.position["train"]].tuples
        parts = split(tuples, part.key, part.count) if part.key else pieces(tuples, part.count)
        return parts[part.index]

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """It can deliver by slot."""
        return True

    def share(self, progress: Progress) -> float | None:
        """The share of the trains."""
        return progress.position["train"] / len(self.trains) if self.trains else 1.0

    def waiting(self, progress: Progress, now: float) -> int | None:
        """The tuples of the trains to come."""
        return sum(len(train) for train in self.trains[progress.position["train"] :])


class ArrivingSource(MemorySource):
    """The same for tuples that arrive in any order; the source box puts them in order."""

    ordered: ClassVar[bool] = False

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """The order of arrival decides what is late, so all tuples must go one way."""
        return False
