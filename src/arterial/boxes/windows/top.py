"""Top: the k rows of each window that are greatest by an expression (Aurora §2.1, Tumble; Flink's window Top-N)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import WINDOW
from arterial.boxes.parts.windows.cut import check_count
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Tree
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Field, Schema, Type
from arterial.network.state import State
from arterial.network.train import Train

_BY, _PLACE, _ALIVE, _SLOT = "@by", "@place", "@alive", "@slot"


@dataclass(frozen=True)
class Top(Box):
    """Gives the k tuples of each window that are greatest by an expression (Aurora §2.1; Flink's window Top-N).

    - A window is one of time, as in `Tumble`: it begins at a multiple of `every`, and its last instant is the time of
      its results. Each group has a list of its own.
    - What leaves are the columns of the tuples, with the window's time, and the place in the list: 1 is the greatest.
    - Of tuples with equal values of `by`, the one whose other columns are less comes first, compared from left to
      right; null is least and NaN greatest. The tuple's own time does not count.
    - A tuple with null for `by` is not in the list.
    - At most k tuples are kept for each open window.

    Parameters:
        k: how many tuples.
        by: the expression that they are ordered by.
        every: the length of a window in time.
        ascending: whether the list has the least tuples, the least first.
        rank: the name of the column that has the place.

    >>> from arterial.testing import show
    >>> columns = dict(time=[1, 2, 3, 70], page=["a", "b", "c", "a"], hits=[5, 9, 7, 1])
    >>> show(lambda s: s.top("leaders", k=2, by="hits", every="1 minute"), **columns)
    time  page  hits  rank
      59     b     9     1
      59     c     7     2
     119     a     1     1
    """

    k: int
    by: str
    every: Duration
    ascending: bool = False
    rank: str = "rank"

    kind: ClassVar[str] = "top"
    splits_by_group: ClassVar[bool] = True
    windowed: ClassVar[bool] = True
    instead: ClassVar[str] = "put it before the box that makes the signs"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The same columns with the time of the window, and the place."""
        stream = inputs[IN]
        require_order(stream)
        check_count(self.k, "k")
        self._every(stream)
        if self._tree(stream).type is None:
            raise NetworkError(f"the expression {self.by!r} has no type; expected one that tuples can be ordered by")
        if stream.time in stream.keyed_by:
            raise NetworkError(f"the stream is grouped by its time {stream.time!r}; a window needs groups that last")
        if self.rank in stream.schema:
            raise NetworkError(f"the stream has a column {self.rank!r} already; name the place otherwise: rank='place'")
        time = time_field(stream.time, stream.schema[stream.time])
        fields = [time if field.name == stream.time else field for field in stream.schema]
        return {OUT: Stream(Schema((*fields, Field(self.rank, Type.INT64))), stream.time, True, stream.keyed_by)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The lists of the windows that the train closes."""
        stream, train, every = self.fed_by[IN], trains[IN], self._every(self.fed_by[IN])
        own = [*(name for name in stream.schema.names if name != stream.time), _BY, WINDOW]
        kind = self._tree(stream).type
        assert kind is not None
        schema = stream.schema.polars() | {_BY: kind.polars, WINDOW: pl.Int64()}
        schema = {name: schema[name] for name in own} | {_PLACE: pl.Int64(), _ALIVE: pl.Int8()}
        table = KeyedTable(state, "lists", schema, (*stream.keyed_by, WINDOW, _PLACE), _ALIVE)
        rows, changed = table.read().select(list(schema)), np.zeros(0, np.int64)
        if len(train):
            windows = pl.Series(WINDOW, instants(train.tuples, stream.time) // every)
            (by,) = evaluate(train.tuples, [self._tree(stream)])
            new = train.tuples.with_columns(by.alias(_BY), windows).select(own).filter(pl.col(_BY).is_not_null())
            rows, changed = self._merged(rows, new, stream)
        ends = (rows[WINDOW].to_numpy() + 1) * every - 1
        closed = ends <= train.through
        if closed.any() or len(changed):
            alive = rows.with_columns(pl.Series(_ALIVE, ~closed, dtype=pl.Int8))
            touched = np.union1d(changed, np.flatnonzero(closed))
            table.write(alive.filter(pl.Series(~closed)), alive[touched])
        order = np.flatnonzero(closed)
        order = order[np.argsort(ends[order], kind="stable")]
        out = self.streams(self.fed_by)[OUT].schema
        time = pl.Series(stream.time, ends[order], dtype=pl.Int64).cast(out[stream.time].polars)
        made = rows[order].with_columns(time, pl.col(_PLACE).alias(self.rank)).select(out.names)
        return {OUT: Train(made, train.through)}

    def _merged(
        self, rows: pl.DataFrame, new: pl.DataFrame, stream: Stream
    ) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The lists with the new tuples, by group, window and place; and which rows are of lists that got new ones."""
        both = pl.concat([rows.drop(_PLACE, _ALIVE), new])
        slots, count = slots_of(codes([both[name] for name in (*stream.keyed_by, WINDOW)], both.height))
        names = [name for name in stream.schema.names if name != stream.time]
        ordered = both.with_columns(pl.Series(_SLOT, slots)).sort(
            _SLOT,
            _BY,
            *names,
            descending=[False, not self.ascending, *[False] * len(names)],
            nulls_last=False,
            maintain_order=True,
        )
        slot = ordered[_SLOT].to_numpy()
        first = np.searchsorted(slot, np.arange(count))
        place = np.arange(len(slot)) - first[slot] + 1
        top = place <= self.k
        kept = ordered.with_columns(pl.Series(_PLACE, place), pl.lit(1, pl.Int8).alias(_ALIVE)).filter(pl.Series(top))
        touched = np.isin(slot[top], slots[rows.height :])
        return kept.select(rows.columns), np.flatnonzero(touched)

    def _tree(self, stream: Stream) -> Tree:
        return parse(self.by, stream.schema)

    def _every(self, stream: Stream) -> int:
        return units(self.every, stream.schema[stream.time], "every")
