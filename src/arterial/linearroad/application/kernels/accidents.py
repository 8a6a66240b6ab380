"""Stopped vehicles and accidents (VLDB 2004, §3.2.2): two or more vehicles stopped in one place of a travel lane.

A report that is the fourth or later in one place makes its vehicle stopped there for 30 seconds, `[t, t + 30)`. An
accident is in every second in which two vehicles are stopped in one place; a minute has it if one of its seconds does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import int32, int64, kernel, reads, several, writes
from arterial.linearroad.application.kernels.base.reports import LANE_SHIFT, PLACE_MASK, POS_MASK, RUN_SHIFT
from arterial.linearroad.application.kernels.trips import Followed
from arterial.linearroad.semantics.city import EXIT_LANE, MINUTE_SECONDS, REPORT_SECONDS, SEGMENT_FEET, SEGMENTS
from arterial.network.state import State


@dataclass(frozen=True)
class Accidents:
    """Cells that have an accident in a minute; one may appear more than once."""

    minute: Array
    cell: Array


def find_accidents(state: State, followed: Followed) -> Accidents:
    """The accidents that the stopped vehicles among these reports make, together with those of the last 30 s.

    State: for each place the two vehicles that stopped there last, and when they last said so.
    """
    stopped = followed.stopped
    if stopped.size == 0:
        return NO_ACCIDENTS
    known = chunks.read(state, "stops") or NO_STOPS
    road = followed.cell[stopped].astype(np.int64) // SEGMENTS
    place = (road << RUN_SHIFT) | (followed.place[stopped] & PLACE_MASK)
    *stops, minute, cell = meet(
        followed.reports.time[stopped],
        followed.reports.vid[stopped],
        place,
        *(known[n] for n in STOP_NAMES),
    )
    state.put("stops", "", dict(zip(STOP_NAMES, stops, strict=True)))
    return Accidents(minute, cell)


STOP_NAMES = ("place", "vid", "time", "other_vid", "other_time")
NO_STOPS = {name: np.empty(0, np.int32 if name.endswith("time") else np.int64) for name in STOP_NAMES}
NO_ACCIDENTS = Accidents(np.empty(0, np.int32), np.empty(0, np.int32))
NEVER = -REPORT_SECONDS


@kernel(
    reads(int32),
    reads(int64),
    reads(int64),
    reads(int64),
    reads(int64),
    reads(int32),
    reads(int64),
    reads(int32),
    gives=several(
        writes(int64),
        writes(int64),
        writes(int32),
        writes(int64),
        writes(int32),
        writes(int32),
        writes(int32),
    ),
)
def meet(
    time: Array,
    vid: Array,
    place: Array,
    old_place: Array,
    old_vid: Array,
    old_time: Array,
    old_other_vid: Array,
    old_other_time: Array,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """Let stopped vehicles meet at their places; the places still in use, and the minutes and cells of accidents.

    The two latest vehicles of a place are enough: whoever comes meets the one of them that it is not.
    """
    room = old_place.size + place.size
    key, first, first_time, other, other_time = (
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
    )
    size = 16
    while size < 2 * room:
        size *= 2
    mask = size - 1
    slots = np.full(size, -1, np.int32)
    used = 0
    for row in range(old_place.size):
        if old_time[row] <= time[0] - REPORT_SECONDS:
            continue
        slot = (old_place[row] * 40503) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = used
        key[used], first[used], first_time[used] = old_place[row], old_vid[row], old_time[row]
        other[used], other_time[used] = old_other_vid[row], old_other_time[row]
        used += 1

    minutes = np.empty(2 * place.size, np.int32)
    cells = np.empty(2 * place.size, np.int32)
    found = 0
    for row in range(place.size):
        lane = (place[row] >> LANE_SHIFT) & 7
        if lane == 0 or lane == EXIT_LANE:
            continue
        slot = (place[row] * 40503) & mask
        while slots[slot] >= 0 and key[slots[slot]] != place[row]:
            slot = (slot + 1) & mask
        at = slots[slot]
        if at < 0:
            slots[slot] = used
            key[used], first[used], first_time[used] = place[row], vid[row], time[row]
            other[used], other_time[used] = -1, NEVER
            used += 1
            continue
        if first[at] != vid[row]:
            other[at], other_time[at] = first[at], first_time[at]
        first[at], first_time[at] = vid[row], time[row]
        if other_time[at] > time[row] - REPORT_SECONDS:
            cell = (place[row] >> RUN_SHIFT) * SEGMENTS + (place[row] & POS_MASK) // SEGMENT_FEET
            begin = time[row] // MINUTE_SECONDS + 1
            end = (other_time[at] + REPORT_SECONDS - 1) // MINUTE_SECONDS + 1
            for minute in range(begin, end + 1):
                minutes[found], cells[found] = minute, cell
                found += 1
    return (
        key[:used].copy(),
        first[:used].copy(),
        first_time[:used].copy(),
        other[:used].copy(),
        other_time[:used].copy(),
        minutes[:found].copy(),
        cells[:found].copy(),
    )
