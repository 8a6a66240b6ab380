"""Accidents: when and where, and the two vehicles that meet (VLDB 2004, §3.1.1).

One accident happens on an expressway in every 20 minutes. The leader of two vehicles that follow each other in a travel
lane brakes as hard as it can and its follower runs into it: both come to rest at one place and stay there until the
accident is cleared, 10 to 20 minutes after it can have been detected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import EXPRESSWAY_FEET, REPORT_SECONDS, SEGMENT_FEET, STOPPED_REPORTS
from arterial.linearroad.simulate.model.road import NOT_STOPPED, NOWHERE, Count, Road
from arterial.linearroad.simulate.settings import ACCIDENT_EVERY_SECONDS, FEET_A_SECOND, Driving, Settings

CLEARED_AFTER = (600, 1200)  # seconds from the detection
_STOPPING_SECONDS = 30  # within which both vehicles have come to rest
_FARTHEST_PAIR = 300.0
_SLOWEST = 10 * FEET_A_SECOND
_LEAST_TO_EXIT = 1.0 * SEGMENT_FEET


class Accidents(NamedTuple):
    """The accidents of one direction."""

    due: NDArray[np.int32]
    wanted_at: NDArray[np.float64]  # along the direction; it happens to the pair nearest to it
    lasts: NDArray[np.int32]
    happened: NDArray[np.int32]  # the second in which it did, or -1
    place: NDArray[np.float64]


def make_accidents(settings: Settings, xway: int, direction: int) -> Accidents:
    """The accidents of one direction, one in 20 minutes on both together; a longer run begins with the same."""
    periods = -(-settings.stop_at // ACCIDENT_EVERY_SECONDS)
    drawn = np.random.default_rng([settings.seed, xway, 10]).random((periods, 4))
    directions = settings.directions(xway)
    due = ((np.arange(periods) + drawn[:, 0]) * ACCIDENT_EVERY_SECONDS).astype(np.int32)
    soonest = _STOPPING_SECONDS + STOPPED_REPORTS * REPORT_SECONDS + CLEARED_AFTER[0]
    # Detection is at the soonest three reports after both vehicles have come to rest.
    latest = (STOPPED_REPORTS - 1) * REPORT_SECONDS + CLEARED_AFTER[1]
    lasts = (soonest + drawn[:, 1] * (latest - soonest)).astype(np.int32)
    here = np.array(directions)[(drawn[:, 2] * len(directions)).astype(int)] == direction
    count = int(here.sum())
    return Accidents(
        due[here], drawn[here, 3] * EXPRESSWAY_FEET, lasts[here], np.full(count, -1, np.int32), np.zeros(count)
    )


@njit(cache=True)
def cause_accidents(
    accidents: Accidents, road: Road, count: Count, second: int, limits: NDArray[np.float64], driving: Driving
) -> None:
    """Let the accidents that are due happen, and set the speed limit of the segments in which one has happened."""
    limits[:] = NOWHERE
    limits[driving.downtown_from : driving.downtown_until] = driving.downtown_limit
    for accident in range(len(accidents.due)):
        if accidents.happened[accident] < 0 and accidents.due[accident] <= second:
            leader, follower = nearest_pair(road, count, accidents.wanted_at[accident])
            if leader >= 0:
                speed = road.speed[leader]
                place = np.floor(road.along[leader] + speed + speed * speed / (2.0 * driving.crash_braking)) + 0.5
                for i in (leader, follower):
                    road.stop_at[i] = place
                    road.stop_until[i] = second + accidents.lasts[accident]
                accidents.happened[accident] = second
                accidents.place[accident] = place
        happened = accidents.happened[accident]
        if happened >= 0 and second < happened + accidents.lasts[accident]:
            limits[int(accidents.place[accident] / SEGMENT_FEET)] = driving.accident_limit


@njit(cache=True)
def nearest_pair(road: Road, count: Count, wanted_at: float) -> tuple[int, int]:
    """Leader and follower, close and moving in a travel lane, that are nearest to a place; -1, -1 if there are none."""
    last = np.full(5, -1, np.int64)
    best = (-1, -1)
    nearest = NOWHERE
    for met in range(count.vehicles[0]):
        i = np.int64(count.order[met])
        lane = road.lane[i]
        leader = last[lane]
        last[lane] = i
        if lane < 1 or lane > 3 or leader < 0:
            continue
        fits = road.along[leader] - road.along[i] < _FARTHEST_PAIR
        for j in (leader, i):
            fits &= road.speed[j] > _SLOWEST and road.stop_at[j] == NOT_STOPPED
            fits &= road.exit_at[j] - road.along[j] > _LEAST_TO_EXIT
        away = abs(road.along[leader] - wanted_at)
        if fits and away < nearest:
            nearest = away
            best = (int(leader), int(i))
    return best
