"""Leaders: the k rows that stand which are first by an expression, as rows come and go (GPAC §5, kNN of any order)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.groups import codes, slots_of, touched
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.signed import as_time, in_order_of_telling, repeated, weights
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.cut import check_count
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Tree, reads
from arterial.network.expression.vectorised import evaluate
from arterial.network.signed import lifted, require_rows_only, row_columns
from arterial.network.state import State
from arterial.network.train import Train

_N, _BY = "@n", "@by"


@dataclass(frozen=True)
class Leaders(Box):
    """Reports the k rows that stand which are greatest by an expression, as rows come and go (GPAC §5).

    A row comes (1) when it is among the first k of its group, and goes (-1) when it no longer is. What counts is the
    end of each instant. `Top` is the same for windows of time, without signs.

    - Of rows with equal values of `by`, the one whose columns are less comes first, compared from left to right; null
      is least and NaN greatest. A row with null for `by` is never among them. A row that stands twice has two places.
    - On a stream without signs nothing leaves but what is overtaken.
    - All rows that stand are kept: any of them may become one of the first.

    Parameters:
        k: how many rows.
        by: the expression that they are ordered by. It reads neither the time nor the sign.
        ascending: whether the least come first.

    >>> from arterial.testing import show
    >>> best = lambda s: s.latest("now", "car").leaders("fastest", k=1, by="speed")
    >>> show(best, time=[1, 2, 3], car=["a", "b", "b"], speed=[50, 90, 30])
    time  car  speed  sign
       1    a     50     1
       2    a     50    -1
       2    b     90     1
       3    b     90    -1
       3    a     50     1
    """

    k: int
    by: str
    ascending: bool = False

    kind: ClassVar[str] = "leaders"
    splits_by_group: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The rows, with a sign."""
        stream = inputs[IN]
        require_order(stream)
        check_count(self.k, "k")
        tree = self._tree(stream)
        if tree.type is None:
            raise NetworkError(f"the expression {self.by!r} has no type; expected one that rows can be ordered by")
        require_rows_only(stream, reads(tree), f"the expression {self.by!r}")
        if stream.time in reads(tree):
            raise NetworkError(f"the expression {self.by!r} reads the time {stream.time!r}, which is no part of a row")
        if stream.time in stream.keyed_by:
            raise NetworkError(f"the stream is grouped by its time {stream.time!r}; rows stand in groups that last")
        return {OUT: lifted(stream)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The changes of the first k at each instant of the train."""
        stream, train = self.fed_by[IN], trains[IN]
        out = self.streams(self.fed_by)[OUT]
        if not len(train):
            return {OUT: Train(out.schema.empty(), train.through)}
        names = row_columns(stream)
        kinds = stream.schema.polars()
        table = KeyedTable(state, "rows", {name: kinds[name] for name in names} | {_N: pl.Int64()}, names, _N)
        known = table.read()
        everyone = pl.concat([known.select(names), train.tuples.select(names)])
        slots, count = slots_of(codes(everyone.get_columns(), everyone.height), known.height)
        first = np.empty(count, np.int64)
        first[slots[::-1]] = np.arange(len(slots))[::-1]
        rows = everyone[first]
        stands = np.zeros(count, np.int64)
        stands[: known.height] = known[_N].to_numpy()
        of_tuple = slots[known.height :]
        ranking = _Ranking(self._places(rows, stream), self._groups(rows, stream), stands, self.k)
        times = instants(train.tuples, stream.time)
        row, moment, weight = ranking.run(of_tuple, times, weights(train.tuples, stream))
        changes = repeated(rows[row].with_columns(as_time(moment, out).alias(out.time)), weight)
        counted = rows.with_columns(pl.Series(_N, ranking.stands))
        table.write(counted.filter(pl.col(_N) != 0), counted[touched(of_tuple, count)])
        return {OUT: Train(in_order_of_telling(changes, out), train.through)}

    def _places(self, rows: pl.DataFrame, stream: Stream) -> Array:
        """The place of each row in the order of all, whatever its group; -1 for rows that are never among the first."""
        (by,) = evaluate(rows, [self._tree(stream)])
        names = row_columns(stream)
        order = rows.select(names).with_columns(by.alias(_BY)).with_row_index("@row")
        order = order.filter(pl.col(_BY).is_not_null()).sort(
            _BY, *names, descending=[not self.ascending, *[False] * len(names)], nulls_last=False, maintain_order=True
        )
        places = np.full(rows.height, -1, np.int64)
        places[order["@row"].to_numpy()] = np.arange(order.height)
        return places

    def _groups(self, rows: pl.DataFrame, stream: Stream) -> Array:
        return slots_of(codes([rows[name] for name in stream.keyed_by], rows.height))[0]

    def _tree(self, stream: Stream) -> Tree:
        return parse(self.by, stream.schema)


class _Ranking:
    """Rows by their numbers: of each group those that stand, in order, and which of them are the first k."""

    def __init__(self, places: Array, groups: Array, stands: Array, k: int) -> None:
        self.places, self.groups, self.k = places.tolist(), groups.tolist(), k
        self._stands: list[int] = stands.tolist()
        self._row_at = {place: row for row, place in enumerate(self.places)}
        self._standing: dict[int, list[int]] = {}
        for row in np.argsort(places, kind="stable").tolist():
            if self._stands[row] > 0 and self.places[row] >= 0:
                self._standing.setdefault(self.groups[row], []).append(self.places[row])

    @property
    def stands(self) -> Array:
        """How often each row stands."""
        return np.array(self._stands, np.int64)

    def run(self, rows: Array, times: Array, signs: Array) -> tuple[Array, Array, Array]:
        """The rows that come and go among the first, the instant of each, and how often it comes."""
        made: list[tuple[int, int, int]] = []
        bounds = [*np.flatnonzero(np.diff(times, prepend=times[0] - 1)).tolist(), len(times)]
        listed, weighed, instants_ = rows.tolist(), signs.tolist(), times.tolist()
        for begin, end in pairwise(bounds):
            before: dict[int, dict[int, int]] = {}
            for at in range(begin, end):
                group = self.groups[listed[at]]
                if group not in before:
                    before[group] = self._first(group)
                self._change(listed[at], weighed[at])
            for group, old in before.items():
                new = self._first(group)
                for row in old | new:
                    if weight := new.get(row, 0) - old.get(row, 0):
                        made.append((row, instants_[begin], weight))
        table = np.array(made, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def _change(self, row: int, sign: int) -> None:
        before = self._stands[row]
        after = self._stands[row] = before + sign
        place = self.places[row]
        if place < 0 or (before > 0) == (after > 0):
            return
        standing = self._standing.setdefault(self.groups[row], [])
        if after > 0:
            insort(standing, place)
        else:
            del standing[bisect_left(standing, place)]

    def _first(self, group: int) -> dict[int, int]:
        """The first k rows of a group, and how many places each has."""
        left, found = self.k, {}
        for place in self._standing.get(group, ()):
            row = self._row_at[place]
            found[row] = min(left, self._stands[row])
            left -= found[row]
            if not left:
                break
        return found
