"""Groups as numbers: every distinct key of a frame gets a slot, so that compiled loops can work on arrays by slot."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.network.keys.nulls import filled, is_null

_PLAIN = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Boolean)
"""What numpy widens itself, sooner than polars plans a cast."""


def codes(columns: list[pl.Series], rows: int) -> Array:
    """The columns as one matrix of integers, equal exactly where the values are; nulls are a value of their own."""
    parts: list[Array] = []
    for column in columns:
        parts.append(_code(column))
        if column.null_count():
            parts.append(is_null(column).astype(np.int64))
    if not parts:
        return np.zeros((rows, 1), np.int64)
    if len(parts) == 1:
        return parts[0].reshape(-1, 1)
    return np.column_stack(parts)


def slots_of(matrix: Array, expected: int = 0) -> tuple[Array, int]:
    """The slot of each row, numbered in the order of first appearance, and how many there are.

    `expected` is a guess of that number, to begin with a table of the right size.
    """
    rows, columns = matrix.shape
    matrix = np.ascontiguousarray(matrix)
    slots = np.empty(rows, np.int64)
    size = max(1024, 1 << (expected + expected // 4).bit_length())
    table, keys = np.full(2 * size, -1, np.int32), np.empty((size, columns), np.int64)
    start, count = 0, 0
    while True:
        start, count = kernels.find_or_add(matrix, start, table, keys, count, slots)
        if start == rows:
            return slots, count
        size *= 4
        known = keys[:count]
        table, keys = np.full(2 * size, -1, np.int32), np.empty((size, columns), np.int64)
        kernels.find_or_add(known, 0, table, keys, 0, np.empty(count, np.int64))


def touched(slots: Array, count: int) -> Array:
    """The slots that appear, in order."""
    seen = np.zeros(count, np.bool_)
    seen[slots] = True
    return np.flatnonzero(seen)


def _code(column: pl.Series) -> Array:
    if column.dtype == pl.String:
        texts = column.fill_null("") if column.null_count() else column
        return texts.cast(pl.Categorical).to_physical().cast(pl.Int64).to_numpy()
    return integers_of(column)


def integers_of(column: pl.Series) -> Array:
    """The column, which is no text, as integers that are equal exactly where the values are; null is as 0."""
    kind = column.dtype
    if kind == pl.Float64:
        values = filled(column, 0.0) + 0.0  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan
        return values.view(np.int64)
    if kind in _PLAIN and not column.null_count():
        return column.to_numpy().astype(np.int64, copy=False)
    return filled(column.cast(pl.Int64), 0)
