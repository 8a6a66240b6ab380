"""The historical requests that accompany position reports (VLDB 2004, §3.1.1): 1 % of them, 50-10-40 by type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.semantics.city import LAST_EXPENDITURE_DAY, MINUTES_A_DAY, SEGMENTS
from arterial.linearroad.simulate.chance import random_below
from arterial.linearroad.simulate.settings import BALANCE_PERCENT, EXPENDITURE_PERCENT, REQUEST_PERCENT

_ASKS, _KIND, _XWAY, _DAY, _FROM, _TO, _WEEKDAY, _MINUTE = range(50, 58)


class Request(NamedTuple):
    """One request; a field that its type does not define is -1."""

    type: int
    xway: int
    sinit: int
    send: int
    dow: int
    tod: int
    day: int


@njit(cache=True)
def has_request(seed: int, report: int) -> bool:
    """Whether this report of an expressway's direction comes with a request; `seed` is that direction's own."""
    return random_below(seed, _ASKS, report, 100) < REQUEST_PERCENT


@njit(cache=True)
def make_request(seed: int, report: int, xways: int) -> Request:
    """The request that comes with a report, in a city of `xways` expressways."""
    kind = random_below(seed, _KIND, report, 100)
    if kind < BALANCE_PERCENT:
        return Request(BALANCE_REQUEST, -1, -1, -1, -1, -1, -1)
    xway = random_below(seed, _XWAY, report, xways)
    if kind < BALANCE_PERCENT + EXPENDITURE_PERCENT:
        day = 1 + random_below(seed, _DAY, report, LAST_EXPENDITURE_DAY)
        return Request(EXPENDITURE_REQUEST, xway, -1, -1, -1, -1, day)
    begin = random_below(seed, _FROM, report, SEGMENTS)
    end = (begin + 1 + random_below(seed, _TO, report, SEGMENTS - 1)) % SEGMENTS
    weekday = 1 + random_below(seed, _WEEKDAY, report, 7)
    minute = 1 + random_below(seed, _MINUTE, report, MINUTES_A_DAY)
    return Request(TRAVEL_TIME_REQUEST, xway, begin, end, weekday, minute, -1)


@njit(cache=True)
def requests_a_second(seed: int, until: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many requests come with the reports of each second."""
    counts = np.zeros(len(until), np.int64)
    report = 0
    for second in range(len(until)):
        while report < until[second]:
            counts[second] += has_request(seed, report)
            report += 1
    return counts
