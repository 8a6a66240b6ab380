"""InARow: the tuple with which a condition holds for the n-th time in a row (Aurora §2.1, windows of tuples)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.passing import run_lengths
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.cut import check_count
from arterial.boxes.tuples.filter import check_predicate, holds, read_by
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.function import Function
from arterial.network.state import State
from arterial.network.train import Train

_RUN = "@run"


@dataclass(frozen=True)
class InARow(Box):
    """Lets the tuple pass with which a condition holds for `n` tuples of the group in a row (Aurora §2.1).

    - A run is a sequence of tuples of a group, each directly after the one before, for all of which the predicate is
      true. False or null ends the run; time without tuples does not.
    - The n-th tuple of a run leaves, as it is; with `further`, so does every later tuple of the run.
    - State is one number for each group with a run.

    Parameters:
        predicate: an expression, or a function made with `@function` that produces one bool, as in `Filter`.
        n: how many tuples in a row.
        further: whether the tuples of a run after the n-th leave too.

    >>> from arterial.testing import show
    >>> show(lambda s: s.in_a_row("hot", "x > 30", n=2), time=[1, 2, 3, 4, 5, 6], x=[31, 32, 33, 9, 40, 41])
    time   x
       2  32
       6  41
    """

    predicate: str | Function
    n: int
    further: bool = False

    kind: ClassVar[str] = "in_a_row"
    splits_by_group: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    instead: ClassVar[str] = "put it before the box that makes the signs"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The same stream."""
        stream = inputs[IN]
        require_order(stream)
        check_predicate(self.predicate, stream)
        check_count(self.n, "n")
        if not isinstance(self.further, bool):
            raise NetworkError(f"further must be True or False, got {self.further!r}")
        return {OUT: stream}

    def reads(self, stream: Stream) -> frozenset[str]:
        """The columns of the predicate and of the group."""
        return read_by(self.predicate, stream) | frozenset(stream.keyed_by)

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The tuples that end a run of the wanted length."""
        stream, train = self.fed_by[IN], trains[IN]
        if not len(train):
            return {OUT: train}
        keys, tuples = stream.keyed_by, train.tuples
        schema = {key: stream.schema[key].polars for key in keys} | {_RUN: pl.Int64()}
        table = KeyedTable(state, "runs", schema, keys, _RUN)
        groups = table.groups(tuples)
        known, count = groups.known, groups.count
        lengths, after = np.zeros(max(count, 1), np.int64), np.empty(len(train), np.int64)
        lengths[: known.height] = known[_RUN].to_numpy()
        true = holds(self.predicate, self.name, stream, tuples).to_numpy()
        run_lengths(groups.of, true, self.n + 1, lengths, after)

        example = np.zeros(count, np.int64)
        example[groups.of[::-1]] = np.arange(len(train))[::-1]
        rows = pl.DataFrame([*(tuples[key][example] for key in keys), pl.Series(_RUN, lengths[:count])])
        table.change(rows, slots=groups.slots)
        mask = after >= self.n if self.further else after == self.n
        return {OUT: Train(tuples.filter(pl.Series(mask)), train.through)}
