"""The hash of values: the same on every machine, in every process and with every version of every library.

Where state lies, what a Drop lets through and what a simulation draws depend on it, so nothing here may ever change.
`mix` scrambles all 64 bits (the finaliser of splitmix64): for random draws and for hashes of several values.
Multiplication by `GOLDEN` (Fibonacci hashing) deals neighbouring numbers out evenly: for slots and for tables of one
number. `hash_kernels` has both for compiled loops; this module does without numba, whose import takes long, because
Spark starts short-lived Python processes that only plan.

Hashes for other ends are elsewhere: tables of vehicles within a slot need another multiplier (Linear Road's
`kernels.base.hashing`), Spark's own partitioner is computed in `engine.spark.partitions`, and `reference.drop` spells
this hash out once more in plain Python, as the independent statement of its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.network.keys.nulls import filled, is_null

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 / golden ratio."""
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
NULL = 0x6E756C6C6E756C6C
"""The hash of a null."""
NOT_A_NUMBER = 0x7FF8000000000000
MASK = 2**64 - 1


def mix(bits: Array) -> Array:
    """Scramble 64 bits, of one number or of each in an array."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(MIX_1)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(MIX_2)
    mixed: Array = bits ^ (bits >> np.uint64(31))
    return mixed


def hash_tuples(tuples: pl.DataFrame, columns: Sequence[str], seed: int = 0) -> Array:
    """A 64-bit hash of each tuple over these columns."""
    from arterial.network.keys.hash_kernels import absorb, hash_texts

    hashes = np.full(tuples.height, seed & MASK, np.uint64)
    for name in columns:
        column = tuples[name]
        words = hash_texts(*_letters(column)) if column.dtype == pl.String else value_bits(column)
        absorb(hashes, with_nulls(words, column))
    return hashes


def value_bits(column: pl.Series) -> Array:
    """64 bits for each number, time or truth value; equal values have equal bits, whatever the width of an integer."""
    if column.dtype.is_float():
        values: Array = np.add(filled(column, 0.0), 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan
    else:
        values = filled(column.cast(pl.Int64), 0)
    return values.view(np.uint64)


def with_nulls(bits: Array, column: pl.Series) -> Array:
    """The bits of a column's values, with `NULL` where there is none."""
    return np.where(is_null(column), np.uint64(NULL), bits) if column.null_count() else bits


def _letters(column: pl.Series) -> tuple[Array, Array]:
    """Where the texts begin and end, and the bytes of all."""
    texts = column.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, letters = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    return ends, np.frombuffer(letters, np.uint8) if letters else np.zeros(0, np.uint8)
