"""The answer to a travel-time request (VLDB 2004, §3.2.3): expected seconds and toll of a journey from ten-week means.

A journey is walked segment by segment. Each takes one mile over the mean LAV of its weekday and minute, and the clock
that this advances, in fractions of a minute, chooses the minute of the next one. Everything is exact: thresholds are
tested on integers, and the clock and the toll are kept as fractions while their denominators are small. Beyond that
they are floating point, and the few journeys that come too near to a boundary for it are walked again in `Fraction`s.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import (
    BASE_TOLL,
    EAST,
    MINUTES_A_DAY,
    SEGMENTS,
    TOLL_CARS_ABOVE,
    TOLL_LAV_BELOW,
    WEST,
)
from arterial.linearroad.semantics.profiles import Profile

Integers = NDArray[np.int64]

# The numbers that a cell of the history holds (`SegmentLookup.cells`).
LAV_SUM, LAV_ROWS, CARS_SUM, ROWS = range(4)

WEEKDAYS = 7
NO_HISTORY = -1

_LARGEST_DENOMINATOR = 2**31
_TOO_NEAR = 1e-9


class JourneyRules(NamedTuple):
    """What the profiles say differently of a journey: the toll of a segment, where it ends, what midnight does."""

    base_toll: int = BASE_TOLL
    lav_below: int = TOLL_LAV_BELOW
    free_cars: int = TOLL_CARS_ABOVE
    needs_more_cars: bool = True
    includes_end: bool = False
    stays_on_weekday: bool = False

    @classmethod
    def of(cls, profile: Profile) -> JourneyRules:
        """Those of a profile."""
        return cls(
            profile.base_toll,
            profile.toll_lav_below,
            profile.toll_free_cars,
            profile.toll_needs_more_cars,
            profile.travel_includes_end,
            profile.travel_over_midnight == "same_weekday",
        )


BY_SPEC = JourneyRules()


def travel_times(
    cells: NDArray[np.int32],
    xways: Integers,
    places: Integers,
    xway: Integers,
    sinit: Integers,
    send: Integers,
    dow: Integers,
    tod: Integers,
    *,
    xways_apart: int = 0,
    rules: JourneyRules = BY_SPEC,
) -> tuple[Integers, Integers]:
    """Travel time in seconds and toll of each journey; -1, -1 where the history does not know a segment on the way.

    `cells[place, dir, weekday - 1, minute - 1, seg]` is (sum of Lav > 0, rows of it, sum of Cnt, rows); `places[i]` is
    the place of the expressway `xways[i]`, which ascend. With `xways_apart` = L, expressway x is as x mod L.
    """
    sinit, send, dow, tod = (np.ascontiguousarray(column, dtype=np.int64) for column in (sinit, send, dow, tod))
    place = find_places(np.ascontiguousarray(xway, dtype=np.int64), xways, places, xways_apart)
    seconds = np.empty(len(place), np.int64)
    toll = np.empty(len(place), np.int64)
    unsure = np.empty(len(place), np.bool_)
    _walk_all(cells, place, sinit, send, dow, tod, rules, seconds, toll, unsure)
    for i in np.flatnonzero(unsure):
        journey = int(sinit[i]), int(send[i]), int(dow[i]), int(tod[i])
        seconds[i], toll[i] = travel_time_in_fractions(cells[place[i]], *journey, rules)
    return seconds, toll


def travel_time_in_fractions(
    cells: NDArray[np.int32], sinit: int, send: int, dow: int, tod: int, rules: JourneyRules = BY_SPEC
) -> tuple[int, int]:
    """One journey on the expressway with these cells, in exact arithmetic throughout."""
    dir_, step = (EAST, 1) if send >= sinit else (WEST, -1)
    start = (dow - 1) * MINUTES_A_DAY + tod - 1
    elapsed, toll = Fraction(0), Fraction(0)
    for seg in range(sinit, send + step if rules.includes_end else send, step):
        weekday, minute = divmod(start + int(elapsed), MINUTES_A_DAY)
        if rules.stays_on_weekday:
            weekday = dow - 1
        lav_sum, lav_rows, cars_sum, rows = (int(n) for n in cells[dir_, weekday % WEEKDAYS, minute, seg])
        if lav_rows == 0:
            return NO_HISTORY, NO_HISTORY
        dense = cars_sum > rules.free_cars * rows or not rules.needs_more_cars
        if lav_sum < rules.lav_below * lav_rows and dense:
            toll += rules.base_toll * (Fraction(cars_sum, rows) - rules.free_cars) ** 2
        elapsed += Fraction(60 * lav_rows, lav_sum)
    half = Fraction(1, 2)
    return int(60 * elapsed + half), int(toll + half)


@njit(cache=True)
def find_places(xway: Integers, xways: Integers, places: Integers, xways_apart: int) -> Integers:
    """The place of each expressway in the cells; -1 if the history does not know it."""
    found = np.empty(len(xway), np.int64)
    for i in range(len(xway)):
        wanted = xway[i] % xways_apart if xways_apart > 0 and xway[i] >= 0 else xway[i]
        at = np.searchsorted(xways, wanted)
        found[i] = places[at] if at < len(xways) and xways[at] == wanted else -1
    return found


@njit(cache=True)
def _walk_all(
    cells: NDArray[np.int32],
    place: Integers,
    sinit: Integers,
    send: Integers,
    dow: Integers,
    tod: Integers,
    rules: JourneyRules,
    seconds: Integers,
    toll: Integers,
    unsure: NDArray[np.bool_],
) -> None:
    for i in range(len(place)):
        unsure[i] = False
        if sinit[i] == send[i] and not rules.includes_end:
            seconds[i] = toll[i] = 0
        elif place[i] < 0 or not _is_journey(sinit[i], send[i], dow[i], tod[i]):
            seconds[i] = toll[i] = NO_HISTORY
        else:
            seconds[i], toll[i], unsure[i] = _walk(cells, place[i], sinit[i], send[i], dow[i], tod[i], rules)


@njit(cache=True)
def _is_journey(sinit: int, send: int, dow: int, tod: int) -> bool:
    return 0 <= sinit < SEGMENTS and 0 <= send < SEGMENTS and 1 <= dow <= WEEKDAYS and 1 <= tod <= MINUTES_A_DAY


@njit(cache=True)
def _walk(
    cells: NDArray[np.int32], place: int, sinit: int, send: int, dow: int, tod: int, rules: JourneyRules
) -> tuple[int, int, bool]:
    """Seconds, toll, and whether floating point left a doubt about either."""
    dir_ = EAST if send >= sinit else WEST
    step = 1 if send >= sinit else -1
    start = (dow - 1) * MINUTES_A_DAY + tod - 1
    # Each sum is whole + numerator / denominator while that is exact, whole + part once the denominator is 0.
    minutes, minutes_num, minutes_den, minutes_part = 0, 0, 1, 0.0
    toll, toll_num, toll_den, toll_part = 0, 0, 1, 0.0
    for seg in range(sinit, send + step if rules.includes_end else send, step):
        now = start + minutes
        weekday = dow - 1 if rules.stays_on_weekday else now // MINUTES_A_DAY % WEEKDAYS
        cell = cells[place, dir_, weekday, now % MINUTES_A_DAY, seg]
        lav_sum, lav_rows = int(cell[LAV_SUM]), int(cell[LAV_ROWS])
        cars_sum, rows = int(cell[CARS_SUM]), int(cell[ROWS])
        if lav_rows == 0:
            return NO_HISTORY, NO_HISTORY, False
        above = cars_sum - rules.free_cars * rows
        if lav_sum < rules.lav_below * lav_rows and (above > 0 or not rules.needs_more_cars):
            toll, toll_num, toll_den, toll_part = _plus(
                toll, toll_num, toll_den, toll_part, rules.base_toll * above * above, rows * rows
            )
        minutes, minutes_num, minutes_den, minutes_part = _plus(
            minutes, minutes_num, minutes_den, minutes_part, 60 * lav_rows, lav_sum
        )
        if minutes_den == 0 and min(minutes_part, 1 - minutes_part) < _TOO_NEAR:
            return 0, 0, True
    seconds, doubt = _rounded(60 * minutes, 60 * minutes_num, minutes_den, 60 * minutes_part)
    toll, toll_doubt = _rounded(toll, toll_num, toll_den, toll_part)
    return seconds, toll, doubt or toll_doubt


@njit(cache=True)
def _plus(whole: int, num: int, den: int, part: float, add: int, over: int) -> tuple[int, int, int, float]:
    """Add the fraction add/over to a sum."""
    whole += add // over
    add %= over
    if den > 0 and den != over:
        common = den // _gcd(den, over) * over
        if common <= _LARGEST_DENOMINATOR:
            num *= common // den
            add *= common // over
            den = over = common
        else:
            part = num / den
            den = 0
    if den > 0:
        num += add
        if num >= den:
            whole += 1
            num -= den
        divisor = _gcd(num, den)
        return whole, num // divisor, den // divisor, 0.0
    part += add / over
    if part >= 1:
        whole += 1
        part -= 1
    return whole, 0, 0, part


@njit(cache=True)
def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@njit(cache=True)
def _rounded(whole: int, num: int, den: int, part: float) -> tuple[int, bool]:
    """A sum rounded half up, and whether floating point may have taken the wrong side."""
    if den > 0:
        return whole + (2 * num + den) // (2 * den), False
    above = part + 0.5
    return whole + int(above), abs(above - np.rint(above)) < 60 * _TOO_NEAR
