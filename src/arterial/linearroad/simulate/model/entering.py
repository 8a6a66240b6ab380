"""Entering: trips that are due wait at their ramp, and go on the road when there is room (VLDB 2004, §3.1.1)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import ENTRANCE_LANE, REPORT_SECONDS, SEGMENT_FEET, SEGMENTS
from arterial.linearroad.simulate.model.following import safe_speed
from arterial.linearroad.simulate.model.road import NOT_STOPPED, Count, Log, Queue, Road
from arterial.linearroad.simulate.settings import Driving, Ramps


@njit(cache=True)
def enter(road: Road, count: Count, queue: Queue, log: Log, second: int, driving: Driving, ramps: Ramps) -> None:
    """Put the next vehicle of every ramp that has room on the road."""
    taken = queue.taken[0]
    while taken < len(queue.due) and queue.due[taken] <= second:
        ramp = queue.entrance[taken]
        if queue.head[ramp] < 0:
            queue.head[ramp] = taken
        else:
            queue.following[queue.tail[ramp]] = taken
        queue.tail[ramp] = taken
        taken += 1
    queue.taken[0] = taken

    order, added = count.order, 0
    on_road, slot = count.vehicles[0], count.vehicles[1]
    for ramp in range(SEGMENTS - 1, -1, -1):
        waiting = queue.head[ramp]
        at = ramp * SEGMENT_FEET + ramps.entry_start
        if waiting < 0 or count.ramp_back[ramp] - driving.spacing < at:
            continue
        queue.head[ramp] = queue.following[waiting]
        room = safe_speed(count.ramp_back[ramp] - driving.spacing - at, 0.0, driving.braking, 1.0 + driving.headway)
        road.along[slot] = at
        road.speed[slot] = min(ramps.entry_speed, room)
        road.desired[slot] = queue.desired[waiting]
        road.exit_at[slot] = queue.exit[waiting] * SEGMENT_FEET
        road.stop_at[slot] = NOT_STOPPED
        road.stop_until[slot] = 0
        road.trip[slot] = queue.trip[waiting]
        road.lane[slot] = ENTRANCE_LANE
        road.phase[slot] = second % REPORT_SECONDS
        log.began[queue.trip[waiting]] = second
        order[on_road + added] = slot
        slot += 1
        added += 1
    if added:
        merge_ordered(road.along, order, on_road, added)
    count.vehicles[0] = on_road + added
    count.vehicles[1] = slot


@njit(cache=True)
def merge_ordered(along: NDArray[np.float64], order: NDArray[np.int32], first: int, second: int) -> None:
    """Merge two runs of `order`, each from front to back, into one."""
    fresh = order[first : first + second].copy()
    old, new, write = first - 1, second - 1, first + second - 1
    while new >= 0:
        if old >= 0 and along[order[old]] < along[fresh[new]]:
            order[write] = order[old]
            old -= 1
        else:
            order[write] = fresh[new]
            new -= 1
        write -= 1
