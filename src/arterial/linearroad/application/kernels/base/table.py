"""A large table by key that lives in memory, grows without a pause, and is saved a little with every train.

Rows lie densely in the order of their arrival; a hash index finds them. In the state the table is a log of the rows
that changed, a chunk a train, and a snapshot in 64 pieces (every 64th row) of which each train writes one, so that no
piece is older than the log reaches back. A train that finds the table in the memo of the state reads nothing; one that
finds the table of an earlier train reads the log since then; otherwise the table is built again from pieces and log.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import boolean, int32, int64, kernel, narrowed, reads, writes
from arterial.linearroad.application.kernels.base.hashing import bits_for, home
from arterial.network.state import State

PIECES = 64
MOVED_AT_ONCE = 1 << 18  # slots of an outgrown index that one train moves at least


class Table:
    """Rows of typed columns by a key of at least 0. A new row is filled with zeros."""

    def __init__(self, dtypes: Mapping[str, type[np.generic]], name: str = "") -> None:
        self.name = name
        self.used = 0
        self.trains = 0  # that changed it
        self.keys = np.empty(PIECES, np.int64)
        self.columns = {column: np.zeros(PIECES, dtype) for column, dtype in dtypes.items()}
        self._index = np.zeros(2 * PIECES, np.int32)  # one more than the row, 0 where there is none
        self._outgrown = self._index[:0]
        self._moved = 0

    @classmethod
    def open(cls, state: State, dtypes: Mapping[str, type[np.generic]], name: str = "") -> Table:
        """The table of that name that the last train left; a name is needed where a state has more than one."""
        table = state.memo.get(f"{name}table")
        if isinstance(table, cls):
            return table
        table = state.earlier_memo.pop(f"{name}table", None)
        if isinstance(table, cls) and table._catch_up(state):
            return table
        return cls._restored(state, dtypes, name)

    def find(self, keys: Array) -> Array:
        """The rows of these keys, -1 where there is none."""
        rows = np.empty(keys.size, np.int64)
        find_rows(keys, self._index, self._outgrown, self.keys, self.used, False, rows)
        return rows

    def insert(self, keys: Array) -> Array:
        """The rows of these keys; new keys get one. Whatever was taken from `columns` before is no longer valid."""
        self._make_room(keys.size)
        rows = np.empty(keys.size, np.int64)
        self.used = find_rows(keys, self._index, self._outgrown, self.keys, self.used, True, rows)
        return rows

    def save(self, state: State, changed: Array) -> None:
        """Log these rows and write the piece whose turn it is; the table itself stays in the memo."""
        state.memo[f"{self.name}table"] = self
        if changed.size == 0:
            return
        self.trains += 1
        turn = chunks.slot(self.trains, PIECES)
        piece = slice(self.trains % PIECES, self.used, PIECES)
        columns = {name: values[piece].copy() for name, values in self.columns.items()}
        chunks.write(state, f"{self.name}piece", turn, self.trains, {"key": narrowed(self.keys[piece]), **columns})
        columns = {name: values[changed] for name, values in self.columns.items()}
        logged = {"row": changed.astype(np.int32), "key": narrowed(self.keys[changed]), **columns}
        chunks.write(state, f"{self.name}log", turn, self.trains, logged)

    @classmethod
    def _restored(cls, state: State, dtypes: Mapping[str, type[np.generic]], name: str) -> Table:
        table = cls(dtypes, name)
        written = np.zeros(PIECES, np.int64)
        for key in state.keys(f"{name}piece"):
            if (piece := chunks.read(state, f"{name}piece", key)) is not None:
                written[int(key)] = chunks.stamp_of(piece)
                table._put(int(key) + PIECES * np.arange(piece["key"].size), piece)
        log = [chunks.read(state, f"{name}log", key) for key in state.keys(f"{name}log")]
        for chunk in sorted((chunk for chunk in log if chunk is not None), key=chunks.stamp_of):
            later = written[chunk["row"] % PIECES] < chunks.stamp_of(chunk)
            table._put(chunk["row"][later], {column: chunk[column][later] for column in ("key", *dtypes)})
            table.trains = chunks.stamp_of(chunk)
        table._index = np.zeros(1 << int(bits_for(table.used)), np.int32)
        add_to_index(table.keys, np.arange(table.used), table._index)
        return table

    def _catch_up(self, state: State) -> bool:
        """Bring the table of an earlier train up to date; whether the log reaches back so far."""
        while True:
            following = self.trains + 1
            chunk = chunks.read(state, f"{self.name}log", chunks.slot(following, PIECES))
            if chunk is None or chunks.stamp_of(chunk) < following:
                return True
            if chunks.stamp_of(chunk) > following:
                return False
            before = self.used
            self._make_room(max(0, int(chunk["row"].max()) + 1 - before))
            self._put(chunk["row"], chunk)
            add_to_index(self.keys, np.arange(before, self.used), self._index)
            self.trains = following

    def _put(self, rows: Array, chunk: dict[str, Array]) -> None:
        if rows.size:
            self.used = max(self.used, int(rows.max()) + 1)
            self._widen(self.used)
            self.keys[rows] = chunk["key"]
            for column, values in self.columns.items():
                values[rows] = chunk[column]

    def _make_room(self, more: int) -> None:
        """Room for so many new rows. An outgrown index stays in use while its rows move, some with every train."""
        self._widen(self.used + more)
        if self._outgrown.size:
            self._move(max(4 * more, MOVED_AT_ONCE))
        if 2 * (self.used + more) > self._index.size:
            self._move(self._outgrown.size)
            self._outgrown, self._moved = self._index, 0
            self._index = np.zeros(1 << int(bits_for(self.used + more)), np.int32)
            self._move(max(4 * more, MOVED_AT_ONCE))

    def _move(self, slots: int) -> None:
        stop = min(self._moved + slots, self._outgrown.size)
        found = self._outgrown[self._moved : stop]
        add_to_index(self.keys, found[found > 0].astype(np.int64) - 1, self._index)
        self._moved = stop
        if stop == self._outgrown.size:
            self._outgrown, self._moved = self._outgrown[:0], 0

    def _widen(self, rows: int) -> None:
        if rows > self.keys.size:
            more = rows + rows // 2 - self.keys.size
            self.keys = np.concatenate([self.keys, np.zeros(more, np.int64)])
            for column, values in self.columns.items():
                self.columns[column] = np.concatenate([values, np.zeros(more, values.dtype)])


@kernel(
    reads(int64),
    writes(int32),
    reads(int32),
    writes(int64),
    int64,
    boolean,
    writes(int64),
    gives=int64,
)
def find_rows(keys: Array, index: Array, outgrown: Array, dense: Array, used: int, insert: bool, rows: Array) -> int:
    """Fill in the row of each key, or -1; with `insert` make one instead. The number of rows then."""
    mask, old_mask = index.size - 1, outgrown.size - 1
    bits, old_bits = 0, 0
    while (1 << bits) < index.size:
        bits += 1
    while (1 << old_bits) < outgrown.size:
        old_bits += 1
    for at in range(keys.size):
        slot = home(keys[at], bits)
        while index[slot] > 0 and dense[index[slot] - 1] != keys[at]:
            slot = (slot + 1) & mask
        found = index[slot]
        if found == 0 and outgrown.size > 0:
            old = home(keys[at], old_bits)
            while outgrown[old] > 0 and dense[outgrown[old] - 1] != keys[at]:
                old = (old + 1) & old_mask
            found = outgrown[old]
        if found == 0 and insert:
            dense[used] = keys[at]
            used += 1
            found = used
            index[slot] = found
        rows[at] = found - 1
    return used


@kernel(reads(int64), reads(int64), writes(int32))
def add_to_index(dense: Array, rows: Array, index: Array) -> None:
    """Let an index find rows that it does not find yet."""
    mask = index.size - 1
    bits = 0
    while (1 << bits) < index.size:
        bits += 1
    for at in range(rows.size):
        slot = home(dense[rows[at]], bits)
        while index[slot] > 0:
            slot = (slot + 1) & mask
        index[slot] = rows[at] + 1
