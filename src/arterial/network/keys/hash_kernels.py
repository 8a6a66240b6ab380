"""The hash of `hashing` for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.network.keys import hashing

mix: Any = njit(cache=True)(hashing.mix)

_GOLDEN = np.uint64(hashing.GOLDEN)


@njit(cache=True)
def fold(h: Any, word: Any) -> Any:
    """A hash with one more value in it."""
    return mix(h + word + _GOLDEN)


@njit(cache=True)
def place_in(key: Any, size: int) -> Any:
    """Where a number belongs in a hash table of so many entries, a power of two."""
    return np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(32)) & (size - 1)


@njit(cache=True)
def absorb(hashes: Array, words: Array) -> None:
    """Fold a word into each hash."""
    for i in range(len(hashes)):
        hashes[i] = fold(hashes[i], words[i])


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
