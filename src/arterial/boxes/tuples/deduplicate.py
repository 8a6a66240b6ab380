"""Deduplicate: of tuples with the same key only the first within a time (Aurora §2.1, Filter with a memory)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.passing import first_within
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

_PASSED, _ALIVE = "@passed", "@alive"


@dataclass(frozen=True)
class Deduplicate(Box):
    """Lets the first tuple of each key pass, and leaves out those that follow within a time (Aurora §2.1; Flink).

    - A tuple is left out if a tuple of its key passed at most `within` before it. What was left out does not count: a
      key that is repeated for ever passes once in each such time.
    - Null is a value like others. On a grouped stream the key is that of the group and of `key` together.
    - A key is forgotten when `within` has passed since its tuple, so state is bounded by the keys of that time.

    Parameters:
        key: the columns whose values say that two tuples are the same; none: those of the group.
        within: how long a tuple that passed is remembered.

    >>> from arterial.testing import show
    >>> show(lambda s: s.deduplicate("once", "id", within="10 s"), time=[1, 5, 11, 12], id=[7, 7, 7, 7])
    time  id
       1   7
      12   7
    """

    key: tuple[str, ...]
    within: Duration

    kind: ClassVar[str] = "deduplicate"
    splits_by_group: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    instead: ClassVar[str] = "use distinct, which keeps each row that stands once"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The same stream."""
        stream = inputs[IN]
        require_order(stream)
        for name in self.key:
            known_column(name, stream.schema.names)
        if not self._key(stream):
            raise NetworkError("expected the columns that say that two tuples are the same, got none")
        if stream.time in self.key:
            raise NetworkError(f"the key cannot be the time {stream.time!r}")
        self._within(stream)
        return {OUT: stream}

    def reads(self, stream: Stream) -> frozenset[str]:
        """The columns of the key."""
        return frozenset(self._key(stream))

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The tuples whose key is new."""
        stream, train = self.fed_by[IN], trains[IN]
        key, within, tuples = self._key(stream), self._within(stream), train.tuples
        schema = {name: stream.schema[name].polars for name in key} | {_PASSED: pl.Int64(), _ALIVE: pl.Int8()}
        table = KeyedTable(state, "passed", schema, key, _ALIVE)
        times, passes = instants(tuples, stream.time), np.zeros(len(train), np.bool_)
        groups = table.groups(tuples, pl.col(_PASSED) < int(times[0]) - within if len(times) else None)
        known, count = groups.known, groups.count
        before, passed = np.arange(count) < known.height, np.zeros(count, np.int64)
        passed[: known.height] = known[_PASSED].to_numpy()
        first_within(groups.of, times, within, before, passed, passes)

        passed_now = tuples.filter(pl.Series(passes))
        changes = passed_now.select(
            *key, pl.Series(_PASSED, instants(passed_now, stream.time)), pl.lit(1, pl.Int8).alias(_ALIVE)
        )
        over = pl.col(_PASSED) <= max(train.through - within, BEGIN)
        table.change(changes, over, groups.slots[groups.of[passes]])
        return {OUT: Train(passed_now, train.through)}

    def _key(self, stream: Stream) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*stream.keyed_by, *self.key)))

    def _within(self, stream: Stream) -> int:
        return units(self.within, stream.schema[stream.time], "within", least=0)
