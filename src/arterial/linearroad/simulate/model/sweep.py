"""One second of driving for every vehicle of a direction (VLDB 2004, §3.1.1).

The sweep goes from the front of the road to its back. So it meets every leader before its followers, in their own lane
and in the others, and needs no search; it keeps the list of vehicles ordered as it goes. Lane 1 lies beside both ramps.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import ENTRANCE_LANE, EXIT_LANE, REPORT_SECONDS, SEGMENT_FEET, SEGMENTS
from arterial.linearroad.simulate.model.following import crash_speed, lets_in, next_random, safe_speed, wished_speed
from arterial.linearroad.simulate.model.road import NOT_STOPPED, NOWHERE, Count, Log, Reports, Road
from arterial.linearroad.simulate.settings import FEET_A_SECOND, Driving, Ramps

_LANES = EXIT_LANE + 1
_FIRST, _LAST = 1, 3  # the travel lanes
_NO_LANE = -1
_AT_REST = 1.0  # feet before its place from which a crashed vehicle is taken to be there
_UNIT = 1.0 / 2.0**53


@njit(cache=True)
def sweep(
    road: Road,
    count: Count,
    log: Log,
    reports: Reports,
    reported: int,
    second: int,
    reporting: bool,
    limits: NDArray[np.float64],
    driving: Driving,
    ramps: Ramps,
) -> int:
    """Let every vehicle whose turn it is report, then drive all one second on; returns the number of reports."""
    # Plain locals: a field of a named tuple costs a reference count whenever the loop touches it.
    along, speeds, lanes, order = road.along, road.speed, road.lane, count.order
    phases, trips, exits, stops, desires = road.phase, road.trip, road.exit_at, road.stop_at, road.desired
    ramp_back = count.ramp_back
    braking, spacing = driving.braking, driving.spacing
    reaction = 1.0 + driving.headway
    phase = second % REPORT_SECONDS
    random = count.random[0]
    # Of each lane: the vehicle met last, and one that asks to be let into it.
    lead_at = np.full(_LANES, NOWHERE)
    lead_speed = np.zeros(_LANES)
    asker_at = np.full(_LANES, NOWHERE)
    asker_speed = np.zeros(_LANES)
    ramp_back[:] = NOWHERE
    total, kept = count.vehicles[0], 0

    for met in range(total):
        i = order[met]
        at, speed, lane = along[i], speeds[i], lanes[i]
        if reporting and phases[i] == phase:
            reports.trip[reported] = trips[i]
            reports.along[reported] = int(at)
            reports.speed[reported] = int(speed / FEET_A_SECOND + 0.5)
            reports.lane[reported] = lane
            reported += 1

        if stops[i] != NOT_STOPPED and second >= road.stop_until[i]:
            stops[i] = NOT_STOPPED
        if stops[i] != NOT_STOPPED:
            chosen = crash_speed(speed, stops[i] - at, driving.crash_braking)
            if stops[i] - at - chosen < _AT_REST:
                chosen = stops[i] - at
                at = stops[i]
            else:
                at += chosen
        else:
            segment = int(at / SEGMENT_FEET)
            offset = at - segment * SEGMENT_FEET
            if lane == EXIT_LANE and offset >= ramps.exit_end:
                log.ended[trips[i]] = second
                log.left_at[trips[i]] = segment
                continue
            to_exit = exits[i] + ramps.exit_from - at
            if to_exit <= 0.0 and _FIRST <= lane <= _LAST:
                if segment == SEGMENTS - 1 or (lane == _FIRST and lead_at[EXIT_LANE] - spacing >= at):
                    lane = EXIT_LANE  # at the end of the road all lanes lead off it
                elif offset > ramps.exit_until:
                    exits[i] += SEGMENT_FEET  # missed; the next will do

            desired = desired_speed(lane, offset, min(desires[i], limits[segment]), ramps)
            wished = wished_speed(speed, desired, driving.acceleration, driving.soft_braking)
            chosen = min(wished, safe_speed(lead_at[lane] - spacing - at, lead_speed[lane], braking, reaction))
            if lane == ENTRANCE_LANE:  # the ramp ends; who has not merged waits there
                chosen = min(chosen, safe_speed(ramps.merge_until - offset, 0.0, braking, 1.0))
            wish, asks = needed_lane(lane, offset, to_exit, driving, ramps), True
            if wish == _NO_LANE and chosen < wished - driving.change_gain and _FIRST <= lane <= _LAST:
                asks = speed < driving.asks_below
                if (met + second) % driving.change_every == 0:
                    wish = faster_lane(lane, at, to_exit, chosen, wished, lead_at, lead_speed, driving)

            # Someone ahead asks to come into this lane: the first who can lets them.
            room = asker_at[lane] - spacing - at
            if 0.0 <= room < driving.help_within:
                yielding = safe_speed(room, asker_speed[lane], braking, reaction)
                chosen = min(chosen, max(yielding, speed - driving.soft_braking))
            if room >= 0.0:
                asker_at[lane] = NOWHERE

            random = next_random(random)
            lost = driving.dawdling * driving.acceleration * (float(random >> np.uint64(11)) * _UNIT)
            chosen = max(0.0, chosen - lost)

            if wish != _NO_LANE:
                there = min(wished, safe_speed(lead_at[wish] - spacing - at, lead_speed[wish], braking, reaction))
                if (
                    lead_at[wish] - spacing >= at
                    and there >= speed - braking
                    and follower_lets_in(along, speeds, lanes, order, met, total, wish, at + there, there, driving)
                ):
                    lane, chosen = wish, there
                elif asks:
                    asker_at[wish], asker_speed[wish] = at + chosen, chosen
            at += chosen
            if lane == ENTRANCE_LANE:
                ramp_back[segment] = at

        along[i], speeds[i], lanes[i] = at, chosen, lane
        lead_at[lane], lead_speed[lane] = at, chosen
        kept = place(along, order, kept, i)

    count.vehicles[0] = kept
    count.random[0] = random
    return reported


@njit(cache=True, inline="always")
def desired_speed(lane: int, offset: float, own: float, ramps: Ramps) -> float:
    """The speed of an empty road here: on a ramp its limit, which ends where an entrance ramp runs beside lane 1."""
    if lane == EXIT_LANE:
        return ramps.exit_limit
    if lane == ENTRANCE_LANE and offset < ramps.merge_from:
        return ramps.entry_limit
    return own


@njit(cache=True, inline="always")
def needed_lane(lane: int, offset: float, to_exit: float, driving: Driving, ramps: Ramps) -> int:
    """The lane to which a driver has to change, off the entrance ramp or towards the exit; or none."""
    if lane == ENTRANCE_LANE:
        return _FIRST if offset >= ramps.merge_from else _NO_LANE
    if _FIRST < lane <= _LAST and to_exit < driving.exit_prepare * (lane - _FIRST):
        return lane - 1
    return _NO_LANE


@njit(cache=True)
def faster_lane(
    lane: int,
    at: float,
    to_exit: float,
    chosen: float,
    wished: float,
    lead_at: NDArray[np.float64],
    lead_speed: NDArray[np.float64],
    driving: Driving,
) -> int:
    """The neighbouring lane in which a driver who is held up gets on clearly faster; or none.

    The lane away from the exit only while the exit is far.
    """
    wish, best = _NO_LANE, chosen + driving.change_gain
    for other in (lane - 1, lane + 1):
        if other < _FIRST or other > _LAST or (other > lane and to_exit < driving.exit_prepare * other):
            continue
        gap = lead_at[other] - driving.spacing - at
        there = min(wished, safe_speed(gap, lead_speed[other], driving.braking, 1.0 + driving.headway))
        if there > best:
            wish, best = other, there
    return wish


@njit(cache=True)
def follower_lets_in(
    along: NDArray[np.float64],
    speeds: NDArray[np.float64],
    lanes: NDArray[np.int8],
    order: NDArray[np.int32],
    met: int,
    total: int,
    lane: int,
    at: float,
    speed: float,
    driving: Driving,
) -> bool:
    """Whether the next vehicle of `lane` behind the one just met has room for it at a new place; none there has."""
    for later in range(met + 1, total):
        j = order[later]
        if lanes[j] == lane:
            return lets_in(along[j], speeds[j], at, speed, driving.spacing, driving.braking, 1.0 + driving.headway)
        if at - along[j] > driving.look_back:
            break
    return True


@njit(cache=True, inline="always")
def place(along: NDArray[np.float64], order: NDArray[np.int32], kept: int, i: int) -> int:
    """Put vehicle i, just moved, where it belongs among the `kept` before it; it has overtaken few."""
    place = kept
    while place > 0 and along[order[place - 1]] < along[i]:
        order[place] = order[place - 1]
        place -= 1
    order[place] = i
    return kept + 1
