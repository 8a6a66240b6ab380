"""A table of rows with a key, kept as chunks of changes, so that a train writes about as much as it touched.

When there are several chunks that are not much larger than a new one, or all are small, it swallows them: there are
few chunks at any time, and a row is rewritten only as often as the logarithm of their number says. The key of a chunk
is its serial number and the number of its rows, so that nothing is read to know that.

A box that looks at all rows uses `read` and `write`. One that looks only at the keys of its train uses `known` or
`groups`, and `change`, whose cost does not depend on how many rows there are: an index over them stays in the memo.

The chunks must not depend on whether the rows came from the memo, whose order is another than that of the chunks. So
what a box makes of them is written in the order of the key.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.index import Groups, RowIndex
from arterial.network.keys.nulls import filled
from arterial.network.state import State

_MOST_ALIKE = 6
"""So many chunks may be about as large as the next."""
_FEW = 4096
"""So many rows are rewritten sooner than read from several chunks."""


class KeyedTable:
    """Rows by key. A row whose `alive` column is 0 is gone. `begin` are the rows before the first write."""

    def __init__(
        self,
        state: State,
        table: str,
        schema: Mapping[str, pl.DataType],
        key: tuple[str, ...],
        alive: str,
        begin: pl.DataFrame | None = None,
    ) -> None:
        self.state = state
        self.table = table
        self.schema = schema
        self.key = key
        self.alive = alive
        self.begin = begin

    def read(self) -> pl.DataFrame:
        """All rows."""
        memo = self.state.memo.get(self.table)
        if isinstance(memo, pl.DataFrame):
            return memo
        rows = self.state.memo[self.table] = self._stored()
        return rows

    def _stored(self) -> pl.DataFrame:
        """All rows, from their chunks."""
        rows = self._latest([self._first_rows(), *(self._chunk(key) for key in self.state.keys(self.table))])
        return _chosen(rows, rows[self.alive].to_numpy() != 0)

    def write(self, rows: pl.DataFrame, changes: pl.DataFrame | None = None) -> None:
        """Make these the rows. `changes` are those that are new, other than before, or gone; None means any."""
        keys = self.state.keys(self.table)
        if changes is None:
            self._replace(self._in_order(rows), keys)
            return
        if not changes.height:
            return
        all_rows = self._add_chunk(self._in_order(changes), None)
        self.state.memo[self.table] = rows if all_rows is None else all_rows

    def known(self, tuples: pl.DataFrame) -> pl.DataFrame:
        """The rows of the keys of these tuples, in the order in which the tuples name them."""
        return self.index.known(tuples)

    def groups(self, tuples: pl.DataFrame, over: pl.Expr | None = None) -> Groups:
        """The groups of tuples by the key, and the rows that they have, in the order in which the tuples name them.

        To be followed by a `change` with a row for each group. Rows that are `over` for the first of the tuples, and so
        for all of them, may be forgotten; a `change` names those that are over after the last one.
        """
        return self.index.groups(tuples, over)

    def change(self, changes: pl.DataFrame, over: pl.Expr | None = None, slots: Array | None = None) -> None:
        """Write rows that are new, other than before, or gone, in an order that the train alone decides.

        Of several rows with one key the last counts. Rows that are `over` need not be kept: the row of their key that
        was there before is over too. `slots` are those of the rows' groups, if they were asked for.
        """
        if changes.height:
            slots = self.index.put(changes, changes[self.alive].to_numpy() != 0, over, slots)
            self._add_chunk(changes, over, slots)
        elif over is not None:
            for key in self.state.keys(self.table):
                if not self._chunk(key).filter(~over).height:
                    self._drop(key)

    def change_last(self, changes: pl.DataFrame) -> None:
        """Write changes of which several may have one key: the last of each, in the order of their first."""
        if changes.height:
            slots = self.index.put(changes, changes[self.alive].to_numpy() != 0)
            last = self.index.last_of_each(slots)
            self._add_chunk(changes[last] if len(last) < len(slots) else changes, None, slots[last])

    @property
    def index(self) -> RowIndex:
        """The index over all rows."""
        index = self.state.memo.get(self._index_name)
        if not isinstance(index, RowIndex):
            index = self._brought_up_to_date(self.state.earlier_memo.pop(self._index_name, None))
            self.state.memo[self._index_name] = index
        return index

    @property
    def _index_name(self) -> str:
        return f"{self.table}.index"

    def _brought_up_to_date(self, earlier: object) -> RowIndex:
        """The index of an earlier train with the chunks that came since; a new one, if it knows too little of others.

        Workers take turns at a shard, so this is how most of them begin theirs.
        """
        chunks = {key: self._chunk(key) for key in self.state.keys(self.table)}
        if isinstance(earlier, RowIndex) and earlier.forget(
            [key for key, chunk in earlier.chunks.items() if chunks.get(key) is not chunk]
        ):
            index = earlier
        else:
            index = RowIndex(self.key, self._first_rows())
        for key, chunk in chunks.items():
            if key not in index.chunks:
                index.slots[key] = index.put(chunk, chunk[self.alive].to_numpy() != 0)
        index.chunks = chunks
        return index

    def _first_rows(self) -> pl.DataFrame:
        """The rows below all chunks."""
        if self.begin is not None and self.state.get(f"{self.table}.marks", "replaced") is None:
            return self.begin
        return pl.DataFrame(schema=dict(self.schema))

    def _add_chunk(
        self, changes: pl.DataFrame, over: pl.Expr | None, slots: Array | None = None
    ) -> pl.DataFrame | None:
        """Put a chunk behind the others; gives all rows, if they are in it."""
        keys = self.state.keys(self.table)
        alike, size = 0, changes.height
        while alike < len(keys) and (rows := _rows(keys[-1 - alike])) <= 2 * size:
            alike, size = alike + 1, size + rows
        merged = changes
        if alike >= _MOST_ALIKE or (alike and size <= _FEW):
            keys, swallowed = keys[:-alike], keys[-alike:]
            merged, slots = self._merged(swallowed, changes, slots)
            for key in swallowed:
                self._drop(key)
        alone = not keys and self.begin is None  # nothing lies below that a row could hide
        if over is not None or alone:
            kept = merged[self.alive].to_numpy() != 0 if alone else np.ones(merged.height, np.bool_)
            if over is not None:
                kept &= filled(merged.select((~over).alias("kept"))["kept"], False)
            merged, slots = _chosen(merged, kept), None if slots is None else slots[kept]
        if merged.height:
            self._put(_serial(keys[-1]) + 1 if keys else 0, merged, slots)
        return merged if alone else None

    def _merged(
        self, swallowed: list[str], changes: pl.DataFrame, slots: Array | None
    ) -> tuple[pl.DataFrame, Array | None]:
        """The latest rows of chunks and changes; by their slots, where all are known."""
        parts = [*(self._chunk(key) for key in swallowed), changes]
        index = self.state.memo.get(self._index_name)
        if slots is None or not isinstance(index, RowIndex) or any(key not in index.slots for key in swallowed):
            return self._latest(parts), None
        everyone = np.concatenate([*(index.slots[key] for key in swallowed), slots])
        last = index.last_of_each(everyone)
        return pl.concat(parts)[last], everyone[last]

    def with_changes(self, changes: pl.DataFrame | None, slots: Array | None = None) -> pl.DataFrame:
        """All rows, with changes that are not written; what is to stay must be written next."""
        if changes is not None:
            self.index.put(changes, changes[self.alive].to_numpy() != 0, slots=slots)
        return self.index.all()

    def _replace(self, rows: pl.DataFrame, keys: list[str]) -> None:
        index = self.state.memo.pop(self._index_name, None)
        if self.begin is not None:
            self.state.put(f"{self.table}.marks", "replaced", {"replaced": np.ones(1)})
        for key in keys:
            self.state.drop(self.table, key)
        self.state.memo[self.table] = rows
        if isinstance(index, RowIndex):
            index.replace(rows)
            self.state.memo[self._index_name] = index
        if rows.height:
            self._put(0, rows)

    def _in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        # Of several rows with one key the last counts.
        return rows.sort(self.key, maintain_order=True) if self.key and rows.height > 1 else rows

    def _latest(self, parts: list[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(parts)
        if not self.key:
            return rows.tail(1)
        slots, count = slots_of(codes([rows[name] for name in self.key], rows.height), rows.height)
        last = np.full(count, -1, np.int64)
        kernels.pick_last(slots, np.zeros(0, np.bool_), last, 0)
        return rows[last]

    def _put(self, serial: int, rows: pl.DataFrame, slots: Array | None = None) -> None:
        key = f"{serial:012d}.{rows.height}"
        self.state.put(self.table, key, rows)
        if isinstance(index := self.state.memo.get(self._index_name), RowIndex):
            index.chunks[key] = rows
            if slots is not None:
                index.slots[key] = slots

    def _drop(self, key: str) -> None:
        self.state.drop(self.table, key)
        if isinstance(index := self.state.memo.get(self._index_name), RowIndex):
            index.chunks.pop(key, None)
            index.slots.pop(key, None)

    def _chunk(self, key: str) -> pl.DataFrame:
        chunk = self.state.get(self.table, key)
        assert isinstance(chunk, pl.DataFrame)
        return chunk


def _serial(key: str) -> int:
    return int(key.partition(".")[0])


def _rows(key: str) -> int:
    return int(key.partition(".")[2])


def _chosen(rows: pl.DataFrame, which: Array) -> pl.DataFrame:
    """Some of the rows; mostly they are all, and polars would plan a filter longer than it takes to see that."""
    return rows if which.all() else rows.filter(pl.Series(which))
