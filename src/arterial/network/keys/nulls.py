"""Nulls of a column as arrays. Polars plans each such call as a query for another thread; Arrow just answers."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array


def is_null(column: pl.Series) -> Array:
    """Which values are null.

    >>> is_null(pl.Series([7, None])).tolist()
    [False, True]
    """
    if not column.null_count():
        return np.zeros(len(column), np.bool_)
    nulls: Array = column.to_arrow().is_null().to_numpy(zero_copy_only=False)
    return nulls


def filled(column: pl.Series, value: float) -> Array:
    """A column of numbers, with a value in the place of nulls.

    >>> filled(pl.Series([7, None]), 0).tolist()
    [7, 0]
    """
    if not column.null_count():
        return column.to_numpy()
    numbers: Array = column.to_arrow().fill_null(value).to_numpy(zero_copy_only=False)
    return numbers
