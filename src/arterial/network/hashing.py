"""A hash of tuples that depends on their values alone: the same on every machine, in every process, in both engines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array

GOLDEN = 0x9E3779B97F4A7C15
NULL = 0x6E756C6C6E756C6C
"""The hash of a null."""

NOT_A_NUMBER = 0x7FF8000000000000
MASK = 2**64 - 1


def hash_tuples(tuples: pl.DataFrame, columns: Sequence[str], seed: int = 0) -> Array:
    """A 64-bit hash of each tuple over these columns."""
    hashes = np.full(tuples.height, seed & MASK, np.uint64)
    for name in columns:
        absorb(hashes, _words(tuples[name]))
    return hashes


@njit(cache=True)
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@njit(cache=True)
def absorb(hashes: Array, words: Array) -> None:
    """hashes[i] = mix(hashes[i] + words[i] + golden)."""
    for i in range(len(hashes)):
        hashes[i] = mix(hashes[i] + words[i] + np.uint64(0x9E3779B97F4A7C15))


@njit(cache=True)
def hash_texts(offsets: Array, letters: Array) -> Array:
    """The FNV-1a hash of each text, its bytes letters[offsets[i]:offsets[i+1]]."""
    words = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(words)):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(letters[j])) * np.uint64(0x100000001B3)
        words[i] = h
    return words


_NO_ENDS = np.zeros(1, np.int64)


def _words(column: pl.Series) -> Array:
    if column.dtype == pl.String:
        texts = column.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest())
        _, offsets, letters = texts.buffers()
        ends = (
            np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else _NO_ENDS
        )
        words = hash_texts(ends, np.frombuffer(letters, np.uint8) if letters else np.zeros(0, np.uint8))
    elif column.dtype == pl.Float64:
        values = column.fill_null(0.0).to_numpy() + 0.0  # -0.0 becomes 0.0
        words = values.view(np.uint64).copy()
        words[np.isnan(values)] = NOT_A_NUMBER
    else:
        words = column.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    if column.null_count():
        words = np.where(column.is_null().to_numpy(), np.uint64(NULL), words)
    return words
