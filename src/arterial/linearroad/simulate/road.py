"""The state of one direction of an expressway, and its life second by second: enter, report, drive, leave.

Every vehicle is on its own: it accelerates on the entrance ramp, merges, follows its leader, changes lanes, makes for its
exit, leaves by the exit ramp (VLDB 2004, §3.1.1). `along` is the distance in feet from the end of the road where the
direction begins. Lane 1 lies beside both ramps.

The vehicles are kept in one list ordered from the front of the road to its back, all lanes together. A sweep along it
meets every leader before its followers, in their own lane and in the others, and so needs no search; the list is kept
ordered as the sweep goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.city import REPORT_SECONDS, SEGMENT_FEET, SEGMENTS
from arterial.linearroad.simulate.following import (
    crash_speed,
    lets_in,
    next_random,
    safe_speed,
    wished_speed,
)
from arterial.linearroad.simulate.settings import FEET_A_SECOND, Driving, Ramps

NOWHERE = 1e9  # the place of a leader that does not exist
NOT_STOPPED = -1.0
_LANES = 5
_MOST_SCANNED = 40
_UNIT = 1.0 / 2.0**53


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
    """Trips of one direction that wait for their ramp, a list a ramp, and how far the demand has been taken up."""

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
    left_at: NDArray[np.int16]


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
        road.lane[slot] = 0
        road.phase[slot] = second % REPORT_SECONDS
        log.began[queue.trip[waiting]] = second
        order[on_road + added] = slot
        slot += 1
        added += 1
    if added:
        _merge_ordered(road.along, order, on_road, added)
    count.vehicles[0] = on_road + added
    count.vehicles[1] = slot


@njit(cache=True)
def _merge_ordered(along: NDArray[np.float64], order: NDArray[np.int32], first: int, second: int) -> None:
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


@njit(cache=True)
def sweep(
    road: Road,
    count: Count,
    log: Log,
    reports: Reports,
    reported: int,
    second: int,
    reporting: bool,
    slow: NDArray[np.float64],
    driving: Driving,
    ramps: Ramps,
) -> int:
    """Let every vehicle whose turn it is report, then drive all of them one second on; returns the number of reports."""
    along, speeds, lanes, order = road.along, road.speed, road.lane, count.order
    braking, spacing = driving.braking, driving.spacing
    reaction = 1.0 + driving.headway
    phase = second % REPORT_SECONDS
    last_exit = (SEGMENTS - 1) * SEGMENT_FEET
    random = count.random[0]
    # Of each lane: the vehicle met last, and one that asks to be let into it.
    lead_at = np.full(_LANES, NOWHERE)
    lead_speed = np.zeros(_LANES)
    asker_at = np.full(_LANES, NOWHERE)
    asker_speed = np.zeros(_LANES)
    count.ramp_back[:] = NOWHERE
    total, kept = count.vehicles[0], 0

    for met in range(total):
        i = order[met]
        at, speed, lane = along[i], speeds[i], lanes[i]
        if reporting and road.phase[i] == phase:
            reports.trip[reported] = road.trip[i]
            reports.along[reported] = int(at)
            reports.speed[reported] = int(speed / FEET_A_SECOND + 0.5)
            reports.lane[reported] = lane
            reported += 1

        if road.stop_at[i] >= 0.0:
            if second >= road.stop_until[i]:
                road.stop_at[i] = NOT_STOPPED
            else:
                speed = crash_speed(speed, road.stop_at[i] - at, driving.crash_braking)
                at += speed
                if road.stop_at[i] - at < 1.0:
                    at, speed = road.stop_at[i], 0.0
                along[i], speeds[i] = at, speed
                lead_at[lane], lead_speed[lane] = at, speed
                kept = _place(along, order, kept, i)
                continue

        segment = int(at / SEGMENT_FEET)
        offset = at - segment * SEGMENT_FEET
        desired = road.desired[i]
        safe = safe_speed(lead_at[lane] - spacing - at, lead_speed[lane], braking, reaction)
        wish, asks = -1, False

        if lane == 4:
            if offset >= ramps.exit_end:
                log.ended[road.trip[i]] = second
                log.left_at[road.trip[i]] = segment
                continue
            chosen = min(wished_speed(speed, ramps.exit_limit, driving.acceleration, driving.soft_braking), safe)
        elif lane == 0:
            if offset < ramps.merge_from:
                desired = ramps.entry_limit
            else:
                wish, asks = 1, True
            # The ramp ends; who has not merged waits there.
            safe = min(safe, safe_speed(ramps.merge_until - offset, 0.0, braking, 1.0))
            chosen = min(wished_speed(speed, desired, driving.acceleration, driving.soft_braking), safe)
        else:
            desired = min(desired, slow[segment])
            wished = wished_speed(speed, desired, driving.acceleration, driving.soft_braking)
            chosen = min(wished, safe)
            to_exit = road.exit_at[i] + ramps.exit_from - at
            if to_exit <= 0.0:
                # At the end of the road all lanes lead off it.
                if lane == 1 or segment == SEGMENTS - 1:
                    lane = 4
                    safe = safe_speed(lead_at[4] - spacing - at, lead_speed[4], braking, reaction)
                    chosen = min(
                        wished_speed(speed, ramps.exit_limit, driving.acceleration, driving.soft_braking), safe
                    )
                elif offset > ramps.exit_until:
                    road.exit_at[i] = min(road.exit_at[i] + SEGMENT_FEET, last_exit)
            if lane == 4:
                pass
            elif lane > 1 and to_exit < driving.exit_prepare * (lane - 1):
                wish, asks = lane - 1, True
            elif (met + second) % driving.change_every == 0 and chosen < wished - driving.change_gain:
                best = chosen + driving.change_gain
                for other in (lane - 1, lane + 1):
                    if other < 1 or other > 3:
                        continue
                    if other > lane and to_exit < driving.exit_prepare * other:
                        continue
                    there = min(wished, safe_speed(lead_at[other] - spacing - at, lead_speed[other], braking, reaction))
                    if there > best and lead_at[other] - spacing >= at:
                        best = there
                        wish, asks = other, speed < driving.asks_below
            # Someone ahead asks to come in here: the first who can lets them.
            if lane != 4 and asker_at[lane] < NOWHERE:
                room = asker_at[lane] - spacing - at
                if room >= 0.0:
                    if room < driving.help_within:
                        yielding = safe_speed(room, asker_speed[lane], braking, reaction)
                        chosen = min(chosen, max(yielding, speed - driving.soft_braking))
                    asker_at[lane] = NOWHERE

        random = next_random(random)
        chosen -= driving.dawdling * driving.acceleration * float(random >> np.uint64(11)) * _UNIT
        if chosen < 0.0:
            chosen = 0.0

        if wish >= 0:
            gap = lead_at[wish] - spacing - at
            changed = False
            if gap >= 0.0:
                there = min(
                    wished_speed(speed, desired, driving.acceleration, driving.soft_braking),
                    safe_speed(gap, lead_speed[wish], braking, reaction),
                )
                if there >= speed - braking:
                    changed = True
                    for later in range(met + 1, min(total, met + _MOST_SCANNED)):
                        j = order[later]
                        if lanes[j] == wish:
                            changed = lets_in(along[j], speeds[j], at + there, there, spacing, braking, reaction)
                            break
                    if changed:
                        lane = wish
                        chosen = there
            if asks and not changed:
                asker_at[wish] = at + chosen
                asker_speed[wish] = chosen

        at += chosen
        along[i], speeds[i], lanes[i] = at, chosen, lane
        lead_at[lane], lead_speed[lane] = at, chosen
        if lane == 0:
            count.ramp_back[segment] = at
        kept = _place(along, order, kept, i)

    count.vehicles[0] = kept
    count.random[0] = random
    return reported


@njit(cache=True, inline="always")
def _place(along: NDArray[np.float64], order: NDArray[np.int32], kept: int, i: int) -> int:
    """Put vehicle i, just moved, where it belongs among the `kept` before it; it has overtaken few."""
    place = kept
    while place > 0 and along[order[place - 1]] < along[i]:
        order[place] = order[place - 1]
        place -= 1
    order[place] = i
    return kept + 1


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
