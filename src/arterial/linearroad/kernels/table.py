"""A large hash table that lives in memory and is saved a little with every train.

In the state it is a log of the rows that changed, a chunk a train, and a snapshot in 64 pieces of which each train
writes one; so no piece is older than the log reaches back. A train that finds the table in the memo of the state reads
nothing; otherwise the table is built again from the pieces and the log.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arterial.linearroad.kernels import chunks
from arterial.linearroad.kernels.compiled import Array, boolean, int64, kernel, narrowed, reads, writes
from arterial.linearroad.kernels.hashing import bits_for, home
from arterial.network.state import State

PIECE_BITS = 6
PIECES = 1 << PIECE_BITS
NOBODY = -1


class Table:
    """Rows of typed columns by a key of at least 0, in an open hash table that is at most half full."""

    def __init__(self, dtypes: Mapping[str, type[np.generic]], name: str = "") -> None:
        self.dtypes = dtypes
        self.name = name
        self.used = 0
        self.trains = 0  # that changed it
        self.keys, self.columns = self._space(0)

    @classmethod
    def open(cls, state: State, dtypes: Mapping[str, type[np.generic]], name: str = "") -> Table:
        """The table of that name that the last train left; a name is needed where a state has more than one."""
        table = state.memo.get(f"{name}table")
        return table if isinstance(table, cls) else cls._restored(state, dtypes, name)

    def find(self, keys: Array) -> Array:
        """The slots of these keys, `NOBODY` where there is none."""
        slots = np.empty(keys.size, np.int64)
        find_slots(keys, self.keys, slots, False)
        return slots

    def insert(self, keys: Array) -> Array:
        """The slots of these keys; keys that are new get one, filled with zeros."""
        if 2 * (self.used + keys.size) > self.keys.size:
            self._grow(2 * (self.used + keys.size))
        slots = np.empty(keys.size, np.int64)
        self.used += find_slots(keys, self.keys, slots, True)
        return slots

    def save(self, state: State, changed: Array) -> None:
        """Log the rows in these slots and write the piece whose turn it is; the table itself stays in the memo."""
        state.memo[f"{self.name}table"] = self
        if changed.size == 0:
            return
        self.trains += 1
        key = chunks.slot(self.trains, PIECES)
        piece = slots_of_piece(self.trains % PIECES, self.keys)
        for table, slots in (("log", changed), ("piece", piece)):
            rows = {name: values[slots] for name, values in self.columns.items()}
            chunks.write(state, self.name + table, key, self.trains, {"key": narrowed(self.keys[slots]), **rows})

    @classmethod
    def _restored(cls, state: State, dtypes: Mapping[str, type[np.generic]], name: str) -> Table:
        table = cls(dtypes, name)
        written = np.zeros(PIECES, np.int64)
        for key in state.keys(f"{name}piece"):
            if (chunk := chunks.read(state, f"{name}piece", key)) is not None:
                written[int(key)] = chunks.stamp_of(chunk)
                table._put(chunk, slice(None))
        log = [chunks.read(state, f"{name}log", key) for key in state.keys(f"{name}log")]
        for chunk in sorted((chunk for chunk in log if chunk is not None), key=chunks.stamp_of):
            keys = chunk["key"].astype(np.int64)
            table._put(chunk, written[pieces_of(keys)] < chunks.stamp_of(chunk))
            table.trains = chunks.stamp_of(chunk)
        return table

    def _put(self, chunk: dict[str, Array], rows: Array | slice) -> None:
        slots = self.insert(chunk["key"].astype(np.int64)[rows])
        for name, values in self.columns.items():
            values[slots] = chunk[name][rows]

    def _grow(self, rows: int) -> None:
        kept = np.flatnonzero(self.keys != NOBODY)
        old_keys, old_columns = self.keys, self.columns
        self.keys, self.columns = self._space(rows)
        slots = np.empty(kept.size, np.int64)
        find_slots(old_keys[kept], self.keys, slots, True)
        for name, values in self.columns.items():
            values[slots] = old_columns[name][kept]

    def _space(self, rows: int) -> tuple[Array, dict[str, Array]]:
        size = max(PIECES, 1 << int(bits_for(rows)))
        return np.full(size, NOBODY, np.int64), {name: np.zeros(size, dtype) for name, dtype in self.dtypes.items()}


@kernel(reads(int64), writes(int64), writes(int64), boolean, gives=int64)
def find_slots(keys: Array, table: Array, slots: Array, insert: bool) -> int:
    """Fill in the slot of each key, or `NOBODY`; with `insert` make one instead. How many were made."""
    mask = table.size - 1
    bits = 0
    while (1 << bits) < table.size:
        bits += 1
    made = 0
    for row in range(keys.size):
        slot = home(keys[row], bits)
        while table[slot] != NOBODY and table[slot] != keys[row]:
            slot = (slot + 1) & mask
        if table[slot] == NOBODY:
            if not insert:
                slots[row] = NOBODY
                continue
            table[slot] = keys[row]
            made += 1
        slots[row] = slot
    return made


@kernel(int64, reads(int64), gives=writes(int64))
def slots_of_piece(piece: int, table: Array) -> Array:
    """The slots of the rows whose home is in one of the 64 parts of the table, wherever probing put them."""
    mask = table.size - 1
    first = (piece * table.size) >> PIECE_BITS
    end = ((piece + 1) * table.size) >> PIECE_BITS
    last = end
    while last - first < table.size and table[last & mask] != NOBODY:
        last += 1
    slots = np.empty(last - first, np.int64)
    found = 0
    for at in range(first, last):
        slot = at & mask
        if table[slot] != NOBODY and home(table[slot], PIECE_BITS) == piece:
            slots[found] = slot
            found += 1
    return slots[:found].copy()


@kernel(reads(int64), gives=writes(int64))
def pieces_of(keys: Array) -> Array:
    """The piece that each key belongs to."""
    pieces = np.empty(keys.size, np.int64)
    for row in range(keys.size):
        pieces[row] = home(keys[row], PIECE_BITS)
    return pieces
