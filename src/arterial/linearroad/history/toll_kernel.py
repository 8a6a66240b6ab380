"""The kernels of the toll history's look-up: its index of vehicles, and the answers to daily-expenditure requests."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_BLOCK = 256


@njit(cache=True)
def ascending(vid: Integers, day: Integers, xway: Integers) -> bool:
    """Whether the rows ascend by vehicle, day and expressway, and none of the keys repeats."""
    for i in range(1, len(vid)):
        if vid[i] < vid[i - 1]:
            return False
        if vid[i] == vid[i - 1] and (day[i] < day[i - 1] or (day[i] == day[i - 1] and xway[i] <= xway[i - 1])):
            return False
    return True


def bucket_shift(vids: Integers) -> int:
    """How many low bits of a vehicle id to drop so that its bucket number stays below four times the vehicles."""
    span, shift = int(vids[-1]) - int(vids[0]), 0
    while span >> shift >= 4 * len(vids):
        shift += 1
    return shift


def bucket_starts(vids: Integers, shift: int) -> NDArray[np.int32]:
    """For each bucket, the first of the ascending `vids` in it or after it; one entry more than buckets."""
    buckets = (vids - vids[0]) >> shift
    return np.searchsorted(buckets, np.arange(int(buckets[-1]) + 2)).astype(np.int32)


@njit(cache=True)
def find_tolls(
    vid: Integers,
    day: Integers,
    xway: Integers,
    vids: Integers,
    shift: int,
    buckets: NDArray[np.int32],
    starts: Integers,
    rows: Integers,
    xways: Integers,
    days: tuple[int, int],
    vids_apart: int,
    xways_apart: int,
) -> tuple[Integers, NDArray[np.bool_]]:
    """Tolls of each (vid, day, xway), and whether the history has the key.

    A vehicle's rows (key, tolls) are rows[starts[v]:starts[v + 1]], ascending; a key is day * len(xways) + rank of the
    expressway. Where days and expressways are complete, as in a history of ours, the first guess at the row is right;
    else it bounds a search among the rows of one vehicle. A block of requests goes through one pass after the other, so
    that their cache misses overlap.
    """
    tolls = np.zeros(len(vid), np.int64)
    known = np.zeros(len(vid), np.bool_)
    vehicle, key, row, there = np.zeros((4, _BLOCK), np.int64)
    first_key = days[0] * len(xways)
    key_span = (days[1] - days[0] + 1) * len(xways)
    for start in range(0, len(vid), _BLOCK):
        block = min(_BLOCK, len(vid) - start)
        for j in range(block):
            i = start + j
            replica = vid[i] // vids_apart if vids_apart > 0 else 0
            vehicle[j] = _position(vids, shift, buckets, vid[i] - replica * vids_apart)
            rank = _rank(xways, xway[i] - replica * xways_apart)
            if rank < 0 or day[i] < days[0] or day[i] > days[1]:
                vehicle[j] = -1
            if vehicle[j] >= 0:
                low, high = starts[vehicle[j]], starts[vehicle[j] + 1]
                key[j] = day[i] * len(xways) + rank
                row[j] = low + (key[j] - first_key) * (high - low) // key_span
        for j in range(block):
            there[j] = rows[row[j], 0]
        for j in range(block):
            i = start + j
            if vehicle[j] < 0:
                continue
            if there[j] != key[j]:
                low, high = starts[vehicle[j]], starts[vehicle[j] + 1]
                row[j] = _search(rows, low, high, row[j], key[j])
                if row[j] == high or rows[row[j], 0] != key[j]:
                    continue
            known[i] = True
            tolls[i] = rows[row[j], 1]
    return tolls, known


@njit(cache=True)
def _search(rows: Integers, low: int, high: int, guess: int, key: int) -> int:
    """The first row from `low` up to `high` whose key is not below `key`; `guess` is where to look first."""
    if rows[guess, 0] < key:
        low = guess + 1
    else:
        high = guess
    while low < high:
        middle = (low + high) >> 1
        if rows[middle, 0] < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _rank(xways: Integers, wanted: int) -> int:
    """Where an expressway stands among the ascending `xways`; -1 if it does not."""
    at = np.searchsorted(xways, wanted)
    return int(at) if at < len(xways) and xways[at] == wanted else -1


@njit(cache=True)
def _position(vids: Integers, shift: int, buckets: NDArray[np.int32], wanted: int) -> int:
    """Where a vehicle stands in the ascending `vids`; -1 if it does not."""
    if wanted < vids[0] or wanted > vids[-1]:
        return -1
    bucket = (wanted - vids[0]) >> shift
    low, high = int(buckets[bucket]), int(buckets[bucket + 1])
    while low < high:
        middle = (low + high) >> 1
        if vids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(vids) and vids[low] == wanted else -1
