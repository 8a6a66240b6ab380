"""The one hash of all kernels: multiplicative hashing of vehicle numbers into tables with linear probing."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.application.kernels.base.compiled import int64, kernel

# Not the golden ratio, by which the engine deals vehicles out to slots: all vehicles of a slot would have the same top
# bits, and crowd in that part of a table.
MULTIPLIER = np.uint64(0xD1B54A32D192ED03)


@kernel(int64, int64, gives=int64)
def home(key: int, bits: int) -> int:
    """The slot of a key in a table of 2**bits slots: the top bits, so that consecutive numbers spread."""
    return np.int64((np.uint64(key) * MULTIPLIER) >> np.uint64(64 - bits))  # type: ignore[return-value]


@kernel(int64, gives=int64)
def bits_for(rows: int) -> int:
    """The size, as a power of two, of a table that stays at most half full with so many rows."""
    bits = 4
    while (1 << bits) < 2 * rows:
        bits += 1
    return bits
