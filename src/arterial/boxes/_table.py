"""A table of rows with a key, kept as a snapshot and the changes since, so that a train writes only what it touched."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from arterial.network.state import Chunk, State

CHANGES_BEFORE_SNAPSHOT = 16


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
        parts = [chunk for key in self.state.keys(self.table) if isinstance(chunk := self._get(key), pl.DataFrame)]
        if self.begin is not None and self._get("begun", "marks") is None:
            parts.insert(0, self.begin)
        if not parts:
            return pl.DataFrame(schema=dict(self.schema))
        rows = pl.concat(parts)
        rows = rows.unique(subset=list(self.key), keep="last", maintain_order=True) if self.key else rows.tail(1)
        rows = rows.filter(pl.col(self.alive) != 0)
        self.state.memo[self.table] = rows
        return rows

    def write(self, rows: pl.DataFrame, changes: pl.DataFrame | None = None) -> None:
        """Make these the rows. `changes` are those that are new, other than before, or gone; None means any."""
        self.state.memo[self.table] = rows
        keys = self.state.keys(self.table)
        if changes is not None and len(keys) < CHANGES_BEFORE_SNAPSHOT:
            if changes.height:
                self.state.put(self.table, f"{int(keys[-1]) + 1 if keys else 0:012d}", changes)
            return
        if self.begin is not None:
            self.state.put(f"{self.table}.marks", "begun", {"begun": np.ones(1)})
        for key in keys[0 if not rows.height else 1 :]:
            self.state.drop(self.table, key)
        if rows.height:
            self.state.put(self.table, keys[0] if keys else f"{0:012d}", rows)

    def _get(self, key: str, part: str = "") -> Chunk | None:
        return self.state.get(f"{self.table}.{part}" if part else self.table, key)
