"""The state of one direction of an expressway: its vehicles, those who wait to enter, what was reported.

`along` is the distance in feet from the end of the road where the direction begins. The vehicles are kept in one list
ordered from the front of the road to its back, all lanes together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NOWHERE = 1e9  # the place of a leader that does not exist
NOT_STOPPED = -1.0


class Road(NamedTuple):
    """The vehicles of one direction; slot i of each column is one vehicle."""

    along: NDArray[np.float64]
    speed: NDArray[np.float64]
    desired: NDArray[np.float64]
    exit_at: NDArray[np.float64]  # the upstream end of the segment in which it leaves
    stop_at: NDArray[np.float64]  # where it comes to rest by an accident, or NOT_STOPPED
    stop_until: NDArray[np.int32]
    trip: NDArray[np.int32]
    lane: NDArray[np.int8]
    phase: NDArray[np.int8]  # it reports in every second t with t % 30 == phase


class Count(NamedTuple):
    """How many there are; columns of one number, because kernels change them."""

    order: NDArray[np.int32]  # the slots from front to back
    vehicles: NDArray[np.int64]  # [0]: on the road; [1]: slots used
    ramp_back: NDArray[np.float64]  # the last vehicle on each entrance ramp
    random: NDArray[np.uint64]


class Queue(NamedTuple):
    """Trips of one direction that wait for their ramp, a list a ramp, and how far the demand has been used."""

    due: NDArray[np.int32]
    entrance: NDArray[np.int16]  # segments counted along the direction
    exit: NDArray[np.int16]
    desired: NDArray[np.float64]
    trip: NDArray[np.int32]
    following: NDArray[np.int32]  # the next of the same ramp, or -1
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    taken: NDArray[np.int64]  # [0]: trips that are due so far


class Reports(NamedTuple):
    """Position reports in the order of their time; `until[t]` is their number up to the end of second t of a chunk."""

    trip: NDArray[np.int32]
    along: NDArray[np.int32]
    speed: NDArray[np.int8]
    lane: NDArray[np.int8]
    until: NDArray[np.int64]


class Log(NamedTuple):
    """When each trip of the expressway began and ended, and where; -1 for what has not happened."""

    began: NDArray[np.int32]
    ended: NDArray[np.int32]
    left_at: NDArray[np.int16]  # the segment, counted along the direction

    @classmethod
    def empty(cls, trips: int) -> Log:
        """The log of trips that have not begun."""
        return cls(np.full(trips, -1, np.int32), np.full(trips, -1, np.int32), np.full(trips, -1, np.int16))


@njit(cache=True)
def tidy(road: Road, count: Count) -> None:
    """Copy the vehicles into the slots 0, 1, 2 … in the order of the road, so that a sweep reads memory in order."""
    total = count.vehicles[0]
    order = count.order[:total]
    road.along[:total] = road.along[order]
    road.speed[:total] = road.speed[order]
    road.desired[:total] = road.desired[order]
    road.exit_at[:total] = road.exit_at[order]
    road.stop_at[:total] = road.stop_at[order]
    road.stop_until[:total] = road.stop_until[order]
    road.trip[:total] = road.trip[order]
    road.lane[:total] = road.lane[order]
    road.phase[:total] = road.phase[order]
    for i in range(total):
        order[i] = i
    count.vehicles[1] = total
