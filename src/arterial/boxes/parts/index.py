"""An index over rows with a key: finds the row of each key by its address in a hash table, whatever their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import integers_of
from arterial.network.keys.nulls import is_null

_FEW = 4096
"""So many rows that nothing refers to are no matter."""
_MOST_PIECES = 16
"""A frame of more pieces is slow to read from."""
_TEXT_CODES = {"text": pl.String(), "code": pl.Int64()}


_WORD = 64
_Place = tuple[int, int, int, tuple[int, int]]
"""Word, first bit and number of bits of a column's values, and word and bit that say which are null."""
_BITS = {pl.Int8: 8, pl.Int16: 16, pl.Int32: 32, pl.Boolean: 1, pl.String: 32}
"""How much of a word the values of a type need; others take a whole one. Texts are numbered."""


@dataclass(frozen=True)
class Groups:
    """The keys of some tuples as numbers: first of those that have a row, in the order of `known`, then of the others.

    `of` is the number of each tuple, `slots` the place of each number in the index that they come from.
    """

    known: pl.DataFrame
    of: Array
    slots: Array

    @property
    def count(self) -> int:
        """How many keys there are."""
        return len(self.slots)

    @property
    def everyone(self) -> Array:
        """The numbers of the known rows, and of the tuples behind them."""
        return np.concatenate([np.arange(self.known.height), self.of])


class RowIndex:
    """Rows by key. New rows are appended; those that nothing refers to are removed when they are the greater part."""

    def __init__(self, key: tuple[str, ...], rows: pl.DataFrame) -> None:
        self.key = key
        self.chunks: dict[str, pl.DataFrame] = {}
        """What it was made of, by whoever made it of chunks, to know it again."""
        self.slots: dict[str, Array] = {}
        """The slot of each row of these chunks, where it is known."""
        self.rows = rows
        self._places, self._words = _layout(tuple(rows.schema[name] for name in key))
        self._texts: dict[str, dict[str, int]] = {}
        self._count, self._appended = 0, 0
        self._table: Array = np.zeros(0, np.int32)
        self._keys: Array = np.zeros((0, 0), np.int64)
        self._row_of: Array = np.zeros(0, np.int32)
        self._numbers: Array = np.zeros(0, np.int32)
        self._begin(rows)

    def __len__(self) -> int:
        """How many keys have a row."""
        return int((self._row_of[: self._count] >= 0).sum())

    def find(self, tuples: pl.DataFrame) -> Array:
        """For each tuple the place of the row of its key in `rows`, or -1."""
        slots = np.empty(tuples.height, np.int64)
        kernels.find(self._codes(tuples, learn=False), self._table, self._keys, slots)
        return np.where(slots >= 0, self._row_of[slots], -1)

    def known(self, tuples: pl.DataFrame) -> pl.DataFrame:
        """The rows of the keys that the tuples have, each once, in the order in which the tuples name them."""
        slots = np.empty(tuples.height, np.int64)
        kernels.find(self._codes(tuples, learn=False), self._table, self._keys, slots)
        _, places, _ = kernels.number_groups(slots[slots >= 0], self._row_of, self._numbers)
        return self.rows[places]

    def groups(self, tuples: pl.DataFrame, over: pl.Expr | None = None) -> Groups:
        """The groups of tuples that are about to get rows. Rows that are `over` may be forgotten."""
        self._make_room(tuples.height, over)
        of, places, used = kernels.number_groups(self._slots(tuples), self._row_of, self._numbers)
        return Groups(self.rows[places], of, used)

    def last_of_each(self, slots: Array) -> Array:
        """The last entry of each slot, in the order in which the slots appear first."""
        return kernels.last_of_each(slots, self._numbers)

    def put(self, rows: pl.DataFrame, alive: Array, over: pl.Expr | None = None, slots: Array | None = None) -> Array:
        """Rows take the place of those with their key; of several with one key, the last. What is not alive goes.

        So do rows that are `over`, when it suits. `slots` are the rows' own, from the last `groups`. Gives the slots.
        """
        if slots is None:
            self._make_room(rows.height, over)
            slots = self._slots(rows)
        kernels.place_rows(slots, alive, self.rows.height, self._row_of)
        self.rows = pl.concat([self.rows, rows], rechunk=False)
        self._appended += 1
        if self._appended > _MOST_PIECES:
            self.rows = self.rows.rechunk()
            self._appended = 0
        return slots

    def forget(self, gone: list[str]) -> bool:
        """Leave out the rows of chunks that others have merged since, or say that it cannot.

        Chunks are merged from the last one on: what counts of their rows is in a later chunk, and no row of an earlier
        one counts again. So it can if it knows where their rows are, and has chunks before them.
        """
        kept = self.chunks.keys() - set(gone)
        if gone and (not kept or any(key not in self.slots or key < max(kept) for key in gone)):
            return False
        for key in gone:
            self._row_of[self.slots.pop(key)] = -1
            del self.chunks[key]
        return True

    def all(self) -> pl.DataFrame:
        """The rows that count, in no certain order."""
        return self.rows[self._counted]

    def those(self, test: Callable[[pl.DataFrame], Array]) -> pl.DataFrame:
        """The rows that count for which a test of all rows says so, in no certain order."""
        return self.rows[self._counted[test(self.rows)[self._counted]]]

    @property
    def _counted(self) -> Array:
        """The places of the rows that count."""
        places: Array = self._row_of[: self._count]
        return places[places >= 0]

    def _make_room(self, more: int, over: pl.Expr | None) -> None:
        """Leave out what nothing refers to, where that is the greater part, before so many rows are added."""
        crowded = self._count + more > len(self._keys) or self.rows.height > 2 * self._count + _FEW
        if crowded and self.rows.height > _FEW:
            rest = self.all()
            rest = rest if over is None else rest.filter(~over)
            if 2 * rest.height < max(self._count, self.rows.height):
                self._begin(rest)

    def replace(self, rows: pl.DataFrame) -> None:
        """Make these the rows, of which there will be about as many again as before."""
        self.chunks.clear()
        self._begin(rows, len(self._keys))

    def _begin(self, rows: pl.DataFrame, room: int = 0) -> None:
        self.rows, self._count, self._appended = rows, 0, 0
        self.slots.clear()
        size = max(1024, room, 1 << (rows.height + rows.height // 4).bit_length())
        if len(self._keys) == size:
            # Memory that is there is sooner cleared than new memory is got.
            self._table.fill(-1)
            self._row_of.fill(-1)
        else:
            self._resize(size)
        slots = self._slots(rows)
        self._row_of[slots] = np.arange(rows.height)

    def _slots(self, rows: pl.DataFrame) -> Array:
        """The slot of each row's key; keys that are new get one."""
        if rows.height > len(self._keys):
            self._resize(1 << (self._count + rows.height + rows.height // 4).bit_length())
        matrix, slots, start = self._codes(rows, learn=True), np.empty(rows.height, np.int64), 0
        while True:
            start, self._count = kernels.find_or_add(matrix, start, self._table, self._keys, self._count, slots)
            if start == rows.height:
                return slots
            self._resize(4 * len(self._keys))

    def _resize(self, size: int) -> None:
        known, row_of = (self._keys[: self._count], self._row_of[: self._count]) if self._count else (None, None)
        self._table = np.full(2 * size, -1, np.int32)
        self._keys = np.empty((size, self._words), np.int64)
        self._row_of, self._numbers = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
        if known is not None and row_of is not None:
            kernels.find_or_add(known, 0, self._table, self._keys, 0, np.empty(len(known), np.int64))
            self._row_of[: self._count] = row_of

    def _codes(self, rows: pl.DataFrame, *, learn: bool) -> Array:
        """The keys as words, and which of them are null. With `learn`, texts that are new get a number."""
        matrix = np.zeros((rows.height, self._words), np.int64)
        for name, (word, shift, bits, null) in zip(self.key, self._places, strict=True):
            column = rows[name]
            is_text = column.dtype == pl.String
            values = self._text_codes(name, column, learn) if is_text else integers_of(column)
            matrix[:, word] |= values if bits == _WORD else (values & ((1 << bits) - 1)) << shift
            if column.null_count():
                matrix[:, null[0]] |= is_null(column).astype(np.int64) << null[1]
        return matrix

    def _text_codes(self, name: str, column: pl.Series, learn: bool) -> Array:
        numbers = self._texts.setdefault(name, {})
        texts = (column.fill_null("") if column.null_count() else column).alias("text")
        distinct = texts.unique().to_list()
        if learn:
            for text in distinct:
                numbers.setdefault(text, len(numbers))
        known = pl.DataFrame({"text": distinct, "code": [numbers.get(text, -1) for text in distinct]}, _TEXT_CODES)
        return texts.to_frame().join(known, on="text", how="left", maintain_order="left")["code"].to_numpy()


@lru_cache(maxsize=1024)
def _layout(types: tuple[pl.DataType, ...]) -> tuple[tuple[_Place, ...], int]:
    """Where in the words of a key each column is, and how many words there are: few are soon hashed and compared."""
    used: list[int] = []

    def place(bits: int) -> tuple[int, int]:
        for word, taken in enumerate(used):
            if taken + bits <= _WORD:
                used[word] += bits
                return word, taken
        used.append(bits)
        return len(used) - 1, 0

    bits = [_BITS.get(kind.base_type(), _WORD) for kind in types]
    values = {i: place(bits[i]) for i in sorted(range(len(types)), key=lambda i: -bits[i])}
    nulls = [place(1) for _ in types]
    return tuple((*values[i], bits[i], nulls[i]) for i in range(len(types))), max(1, len(used))
