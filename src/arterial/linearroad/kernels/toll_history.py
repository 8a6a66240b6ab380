"""The kernels of the toll history's look-up: its index of vehicles, and the answers to daily-expenditure requests."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]


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
    keys: Integers,
    amounts: NDArray[np.int32],
    xways: Integers,
    days: tuple[int, int],
    vids_apart: int,
    xways_apart: int,
) -> tuple[Integers, NDArray[np.bool_]]:
    """Tolls of each (vid, day, xway), and whether the history has the key.

    A vehicle's rows are keys[starts[v]:starts[v + 1]], ascending; a key is day * len(xways) + rank of the expressway.
    Where days and expressways are complete, as in a history of ours, the first guess at the row is right; else it
    bounds a search among the rows of one vehicle.
    """
    tolls = np.zeros(len(vid), np.int64)
    known = np.zeros(len(vid), np.bool_)
    first_key = days[0] * len(xways)
    key_span = (days[1] - days[0] + 1) * len(xways)
    for i in range(len(vid)):
        replica = vid[i] // vids_apart if vids_apart > 0 else 0
        vehicle = _position(vids, shift, buckets, vid[i] - replica * vids_apart)
        if vehicle < 0 or day[i] < days[0] or day[i] > days[1]:
            continue
        wanted = xway[i] - replica * xways_apart
        rank = np.searchsorted(xways, wanted)
        if rank == len(xways) or xways[rank] != wanted:
            continue
        key = day[i] * len(xways) + rank
        low, high = starts[vehicle], starts[vehicle + 1]
        guess = low + (key - first_key) * (high - low) // key_span
        if keys[guess] < key:
            low = guess + 1
        elif keys[guess] > key:
            high = guess
        else:
            low = high = guess
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < starts[vehicle + 1] and keys[low] == key:
            tolls[i] = amounts[low]
            known[i] = True
    return tolls, known


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
