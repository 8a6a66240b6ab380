"""Means of integers without loss: the sum is kept as two halves, and rounded once, when it is divided."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array

_HALF = 32
_LOW = 2**_HALF - 1
_SURE = 2**20
"""A sum whose upper half is below this is exact as a float, too."""


def halves(numbers: Array) -> tuple[Array, Array]:
    """Each number as upper · 2³² + lower; the sums of both fit for up to 2³¹ tuples."""
    return numbers >> _HALF, numbers & _LOW


def mean(upper: Array, lower: Array, counts: Array) -> pl.Series:
    """The sum of both halves divided by the count, rounded once; null where the count is not above zero."""
    upper, lower = upper + (lower >> _HALF), lower & _LOW
    with np.errstate(all="ignore"):
        result: Array = ((upper << _HALF) + lower).astype(np.float64) / counts
    for i in np.flatnonzero((np.abs(upper) >= _SURE) & (counts > 0)):
        result[i] = ((int(upper[i]) << _HALF) + int(lower[i])) / int(counts[i])
    return pl.Series(result).set(pl.Series(counts <= 0), None)
