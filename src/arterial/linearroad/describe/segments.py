"""Minute statistics of segments, and the LAV and toll that follow from them (§3.2.1, tables 1 and 2).

Arrays are indexed by (minute, direction, segment); minute 0 is the seconds 0 to 59.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import (
    ACCIDENT_SEGMENTS,
    BASE_TOLL,
    EAST,
    LAV_MINUTES,
    SEGMENTS,
    TOLL_CARS_ABOVE,
    TOLL_LAV_BELOW,
)
from arterial.network.hash_kernels import place_in

# A mean of exactly 40 must not become 39 through the last bit of a fraction.
HAIR = 1e-9


def minute_statistics(vid: Any, speed: Any, dir: Any, seg: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of one minute's reports: distinct vehicles, and the mean over vehicles of their mean speed; NaN without any."""
    cars, sums = np.zeros((2, SEGMENTS), np.int64), np.zeros((2, SEGMENTS))
    add_vehicles(vid, speed, dir, seg, cars, sums)
    with np.errstate(invalid="ignore"):
        return cars, sums / cars


def latest_average_velocity(speeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """LAV of every minute: the mean of those of the five minutes before that have reports, rounded down; else NaN."""
    known = ~np.isnan(speeds)
    sums, counts = np.zeros_like(speeds), np.zeros(speeds.shape, np.int64)
    for back in range(1, min(LAV_MINUTES, len(speeds) - 1) + 1):
        sums[back:] += np.where(known, speeds, 0)[:-back]
        counts[back:] += known[:-back]
    with np.errstate(invalid="ignore"):
        return np.floor(sums / counts + HAIR)


def tolls(cars: NDArray[np.int64], lav: NDArray[np.float64], near_accident: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The toll quoted on entering each segment in each minute."""
    before = np.zeros_like(cars)
    before[1:] = cars[:-1]
    charged = (np.nan_to_num(lav, nan=np.inf) < TOLL_LAV_BELOW) & (before > TOLL_CARS_ABOVE) & ~near_accident
    return np.where(charged, BASE_TOLL * (before - TOLL_CARS_ABOVE) ** 2, 0)


def near(accidents: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where an accident 0 to 4 segments downstream has effect: in the minute after each of its own."""
    reach = np.zeros_like(accidents)
    for dir in (0, 1):
        step = 1 if dir == EAST else -1
        for segment in range(SEGMENTS):
            for away in range(ACCIDENT_SEGMENTS):
                downstream = min(max(segment + step * away, 0), SEGMENTS - 1)
                reach[1:, dir, segment] |= accidents[:-1, dir, downstream]
    return reach


@njit(cache=True, nogil=True)
def add_vehicles(vid: Any, speed: Any, dir: Any, seg: Any, cars: Any, sums: Any) -> None:
    """Add every vehicle to the `cars` of its segments, and its mean speed there to their `sums`."""
    size = 1024
    while size < 2 * len(vid):
        size *= 2
    vids, cells = np.empty(size, np.int64), np.full(size, -1, np.int16)
    speeds, reports = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for row in range(len(vid)):
        cell = dir[row] * SEGMENTS + seg[row]
        slot: Any = place_in(np.uint64(vid[row]) * np.uint64(2 * SEGMENTS) + np.uint64(cell), size)
        while cells[slot] != -1 and (cells[slot] != cell or vids[slot] != vid[row]):
            slot = (slot + 1) & (size - 1)
        vids[slot] = vid[row]
        cells[slot] = cell
        speeds[slot] += speed[row]
        reports[slot] += 1
    for place in range(size):
        if cells[place] != -1:
            cars[cells[place] // SEGMENTS, cells[place] % SEGMENTS] += 1
            sums[cells[place] // SEGMENTS, cells[place] % SEGMENTS] += speeds[place] / reports[place]
