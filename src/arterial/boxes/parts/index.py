"""An index over rows with a key: finds the row of each key by its address in a hash table, whatever their number."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import integers_of

_FEW = 4096
"""So many rows that nothing refers to are no matter."""
_MOST_PIECES = 16
"""A frame of more pieces is slow to read from."""
_TEXT_CODES = {"text": pl.String(), "code": pl.Int64()}


class RowIndex:
    """Rows by key. New rows are appended; those that nothing refers to are removed when they are the greater part."""

    def __init__(self, key: tuple[str, ...], rows: pl.DataFrame) -> None:
        self.key = key
        self.chunks: dict[str, pl.DataFrame] = {}
        """What it was made of, by whoever made it of chunks, to know it again."""
        self.rows = rows
        self._texts: dict[str, dict[str, int]] = {}
        self._count, self._appended = 0, 0
        self._table: Array = np.zeros(0, np.int64)
        self._keys: Array = np.zeros((0, 0), np.int64)
        self._row_of: Array = np.zeros(0, np.int64)
        self._seen: Array = np.zeros(0, np.bool_)
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
        places = kernels.first_of_each(slots, self._row_of, self._seen)
        return self.rows[places]

    def put(self, rows: pl.DataFrame, alive: Array, over: pl.Expr | None = None) -> None:
        """Rows take the place of those with their key; of several with one key, the last. What is not alive goes.

        So do rows that are `over`, when it suits.
        """
        crowded = self._count + rows.height > len(self._keys) or self.rows.height > 2 * self._count + _FEW
        if crowded and self.rows.height > _FEW:
            rest = self.all()
            rest = rest if over is None else rest.filter(~over)
            if 2 * rest.height < max(self._count, self.rows.height):
                self._begin(rest)
        slots = self._slots(rows)
        kernels.place_rows(slots, alive, self.rows.height, self._row_of)
        self.rows = pl.concat([self.rows, rows], rechunk=False)
        self._appended += 1
        if self._appended > _MOST_PIECES:
            self.rows = self.rows.rechunk()
            self._appended = 0

    def all(self) -> pl.DataFrame:
        """The rows that count, in no certain order."""
        places = self._row_of[: self._count]
        return self.rows[places[places >= 0]]

    def _begin(self, rows: pl.DataFrame) -> None:
        self.rows, self._count, self._appended = rows, 0, 0
        self._resize(max(1024, 1 << (rows.height + rows.height // 4).bit_length()))
        slots = self._slots(rows)
        self._row_of[slots] = np.arange(rows.height)

    def _slots(self, rows: pl.DataFrame) -> Array:
        """The slot of each row's key; keys that are new get one."""
        matrix, slots, start = self._codes(rows, learn=True), np.empty(rows.height, np.int64), 0
        while True:
            start, self._count = kernels.find_or_add(matrix, start, self._table, self._keys, self._count, slots)
            if start == rows.height:
                return slots
            self._resize(4 * len(self._keys))

    def _resize(self, size: int) -> None:
        known, row_of = (self._keys[: self._count], self._row_of[: self._count]) if self._count else (None, None)
        self._table = np.full(2 * size, -1, np.int64)
        self._keys = np.empty((size, len(self.key) + 1), np.int64)
        self._row_of, self._seen = np.full(size, -1, np.int64), np.zeros(size, np.bool_)
        if known is not None and row_of is not None:
            kernels.find_or_add(known, 0, self._table, self._keys, 0, np.empty(len(known), np.int64))
            self._row_of[: self._count] = row_of

    def _codes(self, rows: pl.DataFrame, *, learn: bool) -> Array:
        """The keys as integers, and which of them are null. With `learn`, texts that are new get a number."""
        matrix = np.empty((rows.height, len(self.key) + 1), np.int64)
        nulls = np.zeros(rows.height, np.int64)
        for place, name in enumerate(self.key):
            column = rows[name]
            if column.null_count():
                nulls |= column.is_null().to_numpy().astype(np.int64) << place
            matrix[:, place] = (
                self._text_codes(name, column, learn) if column.dtype == pl.String else integers_of(column)
            )
        matrix[:, -1] = nulls
        return matrix

    def _text_codes(self, name: str, column: pl.Series, learn: bool) -> Array:
        numbers = self._texts.setdefault(name, {})
        texts = column.fill_null("").alias("text")
        distinct = texts.unique().to_list()
        if learn:
            for text in distinct:
                numbers.setdefault(text, len(numbers))
        known = pl.DataFrame({"text": distinct, "code": [numbers.get(text, -1) for text in distinct]}, _TEXT_CODES)
        return texts.to_frame().join(known, on="text", how="left", maintain_order="left")["code"].to_numpy()
