"""The model behind a made history: how traffic goes over the week, the day and the expressway, and what vehicles pay.

Every number is a function of the seed and of its own key alone (counter-based random numbers), so that the rows come
out the same in whatever pieces and on however many cores they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import (
    BASE_TOLL,
    EAST,
    LAST_EXPENDITURE_DAY,
    MINUTES_A_DAY,
    SEGMENTS,
    TOLL_CARS_ABOVE,
    TOLL_LAV_BELOW,
)
from arterial.network.keys.hash_kernels import mix
from arterial.network.keys.hashing import GOLDEN

# Weekday 1 is Sunday, as in the older specification (thesis 2003, table 3.4), so 7 is Saturday.
WEEKEND = (1, 7)

# The expressway at its busiest: vehicles in a segment downtown within a minute of the weekday rush hour.
BUSIEST_CARS = 88.0
FREE_SPEED = 63.0
# The number of vehicles at which traffic goes at half the free speed.
HALF_SPEED_CARS = 74.0

_KNOT_MINUTES = 30
_BLOCK_SEGMENTS = 10
_KNOTS = MINUTES_A_DAY // _KNOT_MINUTES + 1
_BLOCKS = SEGMENTS // _BLOCK_SEGMENTS

# What distinguishes draws that share a key.
_DAY, _SLOW, _ROW, _VEHICLE, _TRIP = range(1, 6)

Shape = NDArray[np.float64]


def demand(weekday: int) -> Shape:
    """Traffic by direction, minute and segment, as a share of the busiest."""
    minute = np.arange(1, MINUTES_A_DAY + 1, dtype=np.float64)
    seg = np.arange(SEGMENTS, dtype=np.float64)
    place = 0.34 + 0.66 * np.exp(-(((seg - 50) / 21) ** 2))
    night = 0.08
    day = _rise(minute, 330, 40) * _rise(-minute, -1260, 70)
    if weekday in WEEKEND:
        by_minute = night + 0.30 * day + 0.30 * _hill(minute, 870, 190)
        return np.broadcast_to(by_minute[:, None] * place, (2, MINUTES_A_DAY, SEGMENTS))
    morning, evening = _hill(minute, 480, 62), _hill(minute, 1035, 85)
    shape = np.empty((2, MINUTES_A_DAY, SEGMENTS))
    for dir_ in (0, 1):
        # In the morning more drive towards the middle, where the city is, in the evening away from it.
        towards = (50 - seg) / 50 * (1 if dir_ == EAST else -1)
        rush = np.outer(morning, 1 + 0.12 * towards) + np.outer(evening, 1 - 0.12 * towards)
        shape[dir_] = (night + 0.45 * day[:, None] + 0.47 * rush) * place
    return shape


@njit(cache=True)
def segment_day(
    seed: int, day: int, xway: int, shape: Shape
) -> tuple[NDArray[np.int16], NDArray[np.int32], NDArray[np.int32]]:
    """Lav, Cnt and Toll of one expressway on one day, by minute, direction and segment."""
    lav = np.empty((MINUTES_A_DAY, 2, SEGMENTS), np.int16)
    cnt = np.empty((MINUTES_A_DAY, 2, SEGMENTS), np.int32)
    toll = np.empty((MINUTES_A_DAY, 2, SEGMENTS), np.int32)
    for dir_ in range(2):
        road = _mixed(_mixed(_mixed(np.uint64(seed), np.uint64(day)), np.uint64(xway)), np.uint64(dir_))
        busy = BUSIEST_CARS * (1 + 0.10 * _triangular(_mixed(road, np.uint64(_DAY)), 0))
        slow = _slow_changes(_mixed(road, np.uint64(_SLOW)))
        rows = _mixed(road, np.uint64(_ROW))
        for minute in range(MINUTES_A_DAY):
            knot, along = minute // _KNOT_MINUTES, (minute % _KNOT_MINUTES) / _KNOT_MINUTES
            for seg in range(SEGMENTS):
                block = seg // _BLOCK_SEGMENTS
                change = slow[knot, block] * (1 - along) + slow[knot + 1, block] * along
                usual = busy * shape[dir_, minute, seg] * (1 + change)
                draw = _mixed(rows, np.uint64(minute * SEGMENTS + seg))
                cars = max(0, int(usual + 0.5 + (2.0 + 0.09 * usual) * _triangular(draw, 0)))
                ratio = usual / HALF_SPEED_CARS
                speed = FREE_SPEED / (1 + ratio * ratio * ratio * ratio) + 5.0 * _triangular(draw, 32)
                lav[minute, dir_, seg] = max(2, int(speed))
                cnt[minute, dir_, seg] = cars
                toll[minute, dir_, seg] = toll_of(lav[minute, dir_, seg], cars)
    return lav, cnt, toll


@njit(cache=True)
def toll_of(lav: int, cars: int) -> int:
    """The toll of a segment without an accident near (§3.2.2)."""
    if lav < TOLL_LAV_BELOW and cars > TOLL_CARS_ABOVE:
        return BASE_TOLL * (cars - TOLL_CARS_ABOVE) ** 2
    return 0


@njit(cache=True)
def vehicle_tolls(
    seed: int, vid: NDArray[np.int64], xway: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int32], NDArray[np.int32]]:
    """The rows of TollHistory of pairs (vehicle, expressway) that ascend: vid, day, xway, tolls, ascending too.

    A vehicle is a commuter or not, and has one expressway on which it mostly drives. A day's tolls are those of the
    congested segments that it drove through.
    """
    total = len(vid) * LAST_EXPENDITURE_DAY
    vids, days = np.empty(total, np.int64), np.empty(total, np.int16)
    xways, tolls = np.empty(total, np.int32), np.empty(total, np.int32)
    row, first = 0, 0
    while first < len(vid):
        after = first + 1
        while after < len(vid) and vid[after] == vid[first]:
            after += 1
        vehicle = _mixed(_mixed(np.uint64(seed), np.uint64(vid[first])), np.uint64(_VEHICLE))
        commuter = _uniform(vehicle, 0) < 0.6
        home = first + int(_uniform(vehicle, 32) * (after - first))
        for day in range(1, LAST_EXPENDITURE_DAY + 1):
            weekday = (day - 1) % 7 + 1
            weekend = weekday == WEEKEND[0] or weekday == WEEKEND[1]
            drives = (0.9 if commuter else 0.3) if not weekend else 0.25
            for pair in range(first, after):
                likely = drives if pair == home else 0.04 * drives
                vids[row], days[row], xways[row] = vid[pair], day, xway[pair]
                draw = _mixed(_mixed(_mixed(vehicle, np.uint64(_TRIP)), np.uint64(day)), np.uint64(xway[pair]))
                tolls[row] = _day_tolls(draw, weekend) if _uniform(draw, 0) < likely else 0
                row += 1
        first = after
    return vids, days, xways, tolls


@njit(cache=True)
def _day_tolls(draw: np.uint64, weekend: bool) -> int:
    """Tolls of a day on which a vehicle drove: on weekdays up to twelve congested segments, at weekends at most two."""
    most = 3 if weekend else 13
    segments = int(_uniform(draw, 32) ** 2 * most)
    total = 0
    for i in range(segments):
        cars = TOLL_CARS_ABOVE + 1 + int(_uniform(_mixed(draw, np.uint64(i + 1)), 0) * 35)
        total += toll_of(0, cars)
    return total


@njit(cache=True)
def _slow_changes(key: np.uint64) -> Shape:
    """How much more or less traffic than usual there is, every half hour and ten segments."""
    changes = np.empty((_KNOTS, _BLOCKS))
    for knot in range(_KNOTS):
        for block in range(_BLOCKS):
            changes[knot, block] = 0.14 * _triangular(_mixed(key, np.uint64(knot * _BLOCKS + block)), 0)
    return changes


@njit(cache=True)
def _mixed(key: np.uint64, more: np.uint64) -> Any:
    """A 64-bit hash of a key and one number more."""
    return mix(key ^ (more * np.uint64(GOLDEN) + np.uint64(GOLDEN)))


@njit(cache=True)
def _uniform(draw: np.uint64, shift: int) -> float:
    """A number from 0 up to 1 out of 32 bits of a draw."""
    return float((draw >> np.uint64(shift)) & np.uint64(0xFFFFFFFF)) / 4294967296.0


@njit(cache=True)
def _triangular(draw: np.uint64, shift: int) -> float:
    """A number from -1 to 1, the middle likeliest, out of 32 bits of a draw."""
    bits = draw >> np.uint64(shift)
    return float(bits & np.uint64(0xFFFF)) / 65536.0 - float((bits >> np.uint64(16)) & np.uint64(0xFFFF)) / 65536.0


def _hill(minute: Shape, middle: float, width: float) -> Shape:
    return np.exp(-(((minute - middle) / width) ** 2))


def _rise(minute: Shape, middle: float, width: float) -> Shape:
    return 1 / (1 + np.exp(-(minute - middle) / width))
