"""Random numbers by address: a hash of (seed, stream, number), the same whoever asks, in whatever order."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def random_bits(seed: int, stream: int, number: int) -> np.uint64:
    """64 random bits (the mixing function of splitmix64, twice)."""
    return _mix(_mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(stream + 1)) ^ np.uint64(number))


@njit(cache=True, inline="always")
def random_share(seed: int, stream: int, number: int) -> float:
    """A random number from 0 up to 1."""
    return float(random_bits(seed, stream, number) >> np.uint64(11)) * (1.0 / 2.0**53)


@njit(cache=True, inline="always")
def random_below(seed: int, stream: int, number: int, limit: int) -> int:
    """A random whole number from 0 up to `limit`."""
    return int(random_share(seed, stream, number) * limit)


@njit(cache=True, inline="always")
def _mix(bits: np.uint64) -> np.uint64:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
