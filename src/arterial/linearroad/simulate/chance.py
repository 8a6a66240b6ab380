"""Random numbers by address: a hash of (seed, stream, number), the same whoever asks, in whatever order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from arterial.network.keys.hash_kernels import mix
from arterial.network.keys.hashing import GOLDEN


@njit(cache=True, inline="always")
def random_bits(seed: int, stream: int, number: int) -> Any:
    """64 random bits (`mix`, twice)."""
    return mix(mix(np.uint64(seed) + np.uint64(GOLDEN) * np.uint64(stream + 1)) ^ np.uint64(number))


@njit(cache=True, inline="always")
def random_share(seed: int, stream: int, number: int) -> float:
    """A random number from 0 up to 1."""
    return float(random_bits(seed, stream, number) >> np.uint64(11)) * (1.0 / 2.0**53)


@njit(cache=True, inline="always")
def random_below(seed: int, stream: int, number: int, limit: int) -> int:
    """A random whole number from 0 up to `limit`."""
    return int(random_share(seed, stream, number) * limit)
