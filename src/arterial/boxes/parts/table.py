"""A table of rows with a key, kept as chunks of changes, so that a train writes about as much as it touched.

A new chunk swallows those before it that are not much larger: there are few chunks at any time, and a row is rewritten
only as often as the logarithm of their number says.

The chunks must not depend on whether the rows came from the memo, whose order is another than that of the chunks. So
what a box makes of them is written in the order of the key.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from arterial.network.state import State


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
        parts = [self._chunk(key) for key in self.state.keys(self.table)]
        if self.begin is not None and self.state.get(f"{self.table}.marks", "replaced") is None:
            parts.insert(0, self.begin)
        if not parts:
            return pl.DataFrame(schema=dict(self.schema))
        rows = self._latest(parts).filter(pl.col(self.alive) != 0)
        self.state.memo[self.table] = rows
        return rows

    def write(self, rows: pl.DataFrame, changes: pl.DataFrame | None = None) -> None:
        """Make these the rows. `changes` are those that are new, other than before, or gone; None means any."""
        keys = self.state.keys(self.table)
        if changes is None:
            self._replace(self._in_order(rows), keys)
            return
        if not changes.height:
            return
        changes = self._in_order(changes)
        parts, size = [changes], changes.height
        while keys and (last := self._chunk(keys[-1])).height <= 2 * size:
            parts.insert(0, last)
            size += last.height
            self.state.drop(self.table, keys.pop())
        merged = changes if len(parts) == 1 else self._latest(parts)
        if not keys and self.begin is None:  # nothing lies below that a row could hide
            merged = rows = merged.filter(pl.col(self.alive) != 0)
        self.state.memo[self.table] = rows
        if merged.height:
            self.state.put(self.table, _serial(int(keys[-1]) + 1 if keys else 0), merged)

    def _replace(self, rows: pl.DataFrame, keys: list[str]) -> None:
        if self.begin is not None:
            self.state.put(f"{self.table}.marks", "replaced", {"replaced": np.ones(1)})
        for key in keys:
            self.state.drop(self.table, key)
        self.state.memo[self.table] = rows
        if rows.height:
            self.state.put(self.table, _serial(0), rows)

    def _in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.sort(self.key) if self.key else rows

    def _latest(self, parts: list[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(parts)
        return rows.unique(subset=list(self.key), keep="last", maintain_order=True) if self.key else rows.tail(1)

    def _chunk(self, key: str) -> pl.DataFrame:
        chunk = self.state.get(self.table, key)
        assert isinstance(chunk, pl.DataFrame)
        return chunk


def _serial(number: int) -> str:
    return f"{number:012d}"
