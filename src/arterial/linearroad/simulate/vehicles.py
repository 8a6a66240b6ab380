"""Which vehicle makes which trip (VLDB 2004, §3.1.1): some leave the road and come back, also to another expressway.

Trips are simulated without names. Afterwards every trip, in the order in which they began, is given either a new
vehicle or one that had left before and had the time to drive here. So no vehicle is ever on two roads, whatever the
traffic did.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.simulate.chance import random_below, random_share
from arterial.linearroad.simulate.settings import (
    RETURN_REST_SECONDS,
    RETURN_SECONDS_A_MILE,
    RETURN_SHARE,
    XWAY_DISTANCE_MILES,
)

NO_VEHICLE = -1
_STREAM = 30
_TRIES = 16


class Journeys(NamedTuple):
    """What became of the trips of a whole city; -1 for what has not happened."""

    began: NDArray[np.int32]
    ended: NDArray[np.int32]
    xway: NDArray[np.int32]
    entrance: NDArray[np.int16]
    left_at: NDArray[np.int16]


def assign_vehicles(journeys: Journeys, seed: int) -> NDArray[np.int64]:
    """The vehicle of each trip, numbered from 0 in the order of their first trips; NO_VEHICLE if it never began."""
    starts = np.lexsort((journeys.xway, journeys.began))
    starts = starts[journeys.began[starts] >= 0]
    ends = np.lexsort((journeys.xway, journeys.ended))
    ends = ends[journeys.ended[ends] >= 0]
    return _assign(journeys, starts, ends, seed)


@njit(cache=True)
def could_return(journeys: Journeys, earlier: int, later: int) -> bool:
    """Whether one vehicle can make both trips: rest, and drive from exit to entrance on other roads, between them."""
    miles = abs(journeys.left_at[earlier] - journeys.entrance[later])
    miles += XWAY_DISTANCE_MILES * abs(journeys.xway[earlier] - journeys.xway[later])
    away = journeys.began[later] - journeys.ended[earlier]
    return bool(away >= RETURN_REST_SECONDS + RETURN_SECONDS_A_MILE * miles)


@njit(cache=True)
def _assign(journeys: Journeys, starts: NDArray[np.int64], ends: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    vehicle = np.full(len(journeys.began), NO_VEHICLE, np.int64)
    away = np.empty(len(ends), np.int64)  # the last trips of the vehicles that are off the road
    count, gone, known = 0, 0, 0
    for start in range(len(starts)):
        trip = starts[start]
        while gone < len(ends) and journeys.ended[ends[gone]] <= journeys.began[trip] - RETURN_REST_SECONDS:
            away[count] = ends[gone]
            count += 1
            gone += 1
        if random_share(seed, _STREAM, start) < RETURN_SHARE:
            for draw in range(_TRIES if count else 0):
                picked = random_below(seed, _STREAM + 1 + draw, start, count)
                if could_return(journeys, away[picked], trip):
                    vehicle[trip] = vehicle[away[picked]]
                    count -= 1
                    away[picked] = away[count]
                    break
        if vehicle[trip] == NO_VEHICLE:
            vehicle[trip] = known
            known += 1
    return vehicle
