"""Compiled loops over tuples and groups. Each walks the tuples in order, so that sums do not depend on cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]


@njit(cache=True)
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = np.uint64(x)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@njit(cache=True)
def hash_rows(codes: Array, seed: np.uint64) -> Array:
    """A 64-bit hash of each row of codes."""
    rows, columns = codes.shape
    hashes = np.empty(rows, np.uint64)
    for i in range(rows):
        h = np.uint64(seed)
        for k in range(columns):
            h = mix(h + np.uint64(codes[i, k]) + np.uint64(0x9E3779B97F4A7C15))
        hashes[i] = h
    return hashes


@njit(cache=True)
def find_or_add(codes: Array, start: int, table: Array, keys: Array, count: int, slots: Array) -> tuple[int, int]:
    """Give every row from `start` on the slot of its key, adding keys that are new, until the table is half full.

    `table` is an open hash table of slots (-1: free), its length a power of two; `keys` holds the key of each slot.
    Returns the row where it stopped and the number of slots.
    """
    rows, columns = codes.shape
    cells = np.uint64(len(table) - 1)
    for i in range(start, rows):
        h = np.uint64(0)
        for k in range(columns):
            h = mix(h + np.uint64(codes[i, k]) + np.uint64(0x9E3779B97F4A7C15))
        cell = h & cells
        while True:
            slot = table[cell]
            if slot < 0:
                if 2 * (count + 1) > len(table) or count == len(keys):
                    return i, count
                for k in range(columns):
                    keys[count, k] = codes[i, k]
                table[cell] = count
                slots[i] = count
                count += 1
                break
            same = True
            for k in range(columns):
                if keys[slot, k] != codes[i, k]:
                    same = False
                    break
            if same:
                slots[i] = slot
                break
            cell = (cell + np.uint64(1)) & cells
    return rows, count


@njit(cache=True)
def add_counts(slots: Array, valid: Array, counts: Array) -> None:
    """counts[slot] += 1 for every valid row; `valid` may be empty: all are."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            counts[slots[i]] += 1


@njit(cache=True)
def add_sums(slots: Array, values: Array, valid: Array, sums: Array, counts: Array) -> None:
    """sums[slot] += value, in the order of the rows."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            sums[slots[i]] += values[i]
            counts[slots[i]] += 1


@njit(cache=True)
def pick_last(slots: Array, valid: Array, rows: Array, offset: int) -> None:
    """rows[slot] = offset + the last valid row of the slot."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            rows[slots[i]] = offset + i


@njit(cache=True)
def pick_first(slots: Array, valid: Array, rows: Array, offset: int) -> None:
    """rows[slot] = offset + the first valid row of the slot, where it has none yet (-1)."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if (everyone or valid[i]) and rows[slots[i]] < 0:
            rows[slots[i]] = offset + i


@njit(cache=True)
def take_extremes(slots: Array, values: Array, valid: Array, best: Array, counts: Array, greatest: bool) -> None:
    """best[slot] = the least or the greatest value; NaN is the greatest of all."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            s = slots[i]
            value = values[i]
            old = best[s]
            if counts[s] == 0:
                best[s] = value
            elif greatest:
                if value > old or value != value:
                    best[s] = value
            elif value < old or old != old:
                best[s] = value
            counts[s] += 1


@njit(cache=True)
def add_spread(slots: Array, values: Array, valid: Array, counts: Array, means: Array, squares: Array) -> None:
    """Welford's running mean and sum of squared differences."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            s = slots[i]
            counts[s] += 1
            delta = values[i] - means[s]
            means[s] += delta / counts[s]
            squares[s] += delta * (values[i] - means[s])


@njit(cache=True)
def count_up(slots: Array, counts: Array, before: Array) -> None:
    """before[i] = how many tuples its slot had before this one; counts go on."""
    for i in range(len(slots)):
        before[i] = counts[slots[i]]
        counts[slots[i]] += 1
