"""The kernel that follows every vehicle from report to report: trips, notices and stops (§3.2.1 and §3.2.2).

A report's predecessor is the same vehicle's report 30 s earlier in the same direction; what has none begins a trip.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import (
    ENTRANCE_LANE,
    EXIT_LANE,
    MINUTE_SECONDS,
    REPORT_SECONDS,
    SEGMENTS,
    STOPPED_REPORTS,
)
from arterial.network.hash_kernels import place_in

# The last report of a chain, how many like it came in a row, and when that made a stop.
CHAIN = np.dtype(
    [
        ("vid", np.int64), ("time", np.int32), ("pos", np.int32), ("stopped_at", np.int32), ("alike", np.int32),
        ("seg", np.int16), ("lane", np.int8), ("dir", np.int8),
    ]
)  # fmt: skip
FREE = -1


class Chains:
    """Follows the reports of one expressway, given in time order."""

    def __init__(self, minutes: int) -> None:
        self.trips = self.entries = self.exits = 0
        self.notices = np.zeros((minutes, 2, SEGMENTS), np.int64)
        self._chains = _no_chains(1024)
        self._used = 0
        self._stops: list[NDArray[np.int64]] = []

    def follow(self, time: Any, vid: Any, lane: Any, dir: Any, seg: Any, pos: Any) -> None:
        """Take the next reports into account."""
        if 2 * (self._used + len(time)) > len(self._chains):
            size = 1 << int(4 * (self._used + len(time))).bit_length()
            self._chains = moved(self._chains, _no_chains(size))
        stops = np.empty((len(time), 6), np.int64)
        new, trips, entries, exits, stopped = follow_chains(
            time, vid, lane, dir, seg, pos, self._chains, self.notices, stops
        )
        self._used += new
        self.trips += trips
        self.entries += entries
        self.exits += exits
        self._stops.append(stops[:stopped].copy())

    def vehicles(self) -> NDArray[np.int64]:
        """All vehicles that were seen."""
        return np.unique(self._chains["vid"][self._chains["vid"] != FREE])

    def stops(self) -> NDArray[np.int64]:
        """Every stop as a row (dir, lane, pos, vid, start, end); the end is when the stop lapses."""
        last = self._chains[(self._chains["vid"] != FREE) & (self._chains["alike"] >= STOPPED_REPORTS)]
        going_on = np.stack(
            [last["dir"], last["lane"], last["pos"], last["vid"], last["stopped_at"], last["time"] + REPORT_SECONDS],
            axis=1,
        )
        return np.concatenate([*self._stops, going_on.astype(np.int64)])


def _no_chains(size: int) -> NDArray[Any]:
    chains = np.zeros(size, CHAIN)
    chains["vid"] = FREE
    return chains


@njit(cache=True, nogil=True)
def slot_of(chains: Any, vid: int, time: int) -> Any:
    """Where the chain of this vehicle and second of 30 is, or the free slot where it belongs."""
    mask = len(chains) - 1
    phase = time % REPORT_SECONDS
    slot = place_in(np.uint64(vid) * np.uint64(REPORT_SECONDS) + np.uint64(phase), len(chains))
    while chains[slot].vid != FREE and (chains[slot].vid != vid or chains[slot].time % REPORT_SECONDS != phase):
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def moved(chains: Any, larger: Any) -> Any:
    """The chains in a larger table."""
    for slot in range(len(chains)):
        if chains[slot].vid != FREE:
            larger[slot_of(larger, chains[slot].vid, chains[slot].time)] = chains[slot]
    return larger


@njit(cache=True, nogil=True)
def follow_chains(
    time: Any, vid: Any, lane: Any, dir: Any, seg: Any, pos: Any, chains: Any, notices: Any, stops: Any
) -> Any:
    """Bring `chains` up to date; count notices by (minute, dir, segment) and write down the stops that end.

    Returns how many chains are new, trips that begin, those of them in lane 0, trips that reach an exit, and stops.
    """
    new = trips = entries = exits = stopped = 0
    for row in range(len(time)):
        slot = slot_of(chains, vid[row], time[row])
        chain = chains[slot]
        if chain.vid == FREE:
            new += 1
        goes_on = chain.vid != FREE and chain.time == time[row] - REPORT_SECONDS and chain.dir == dir[row]
        alike = goes_on and chain.lane == lane[row] and chain.pos == pos[row]
        if not alike:
            if chain.vid != FREE and chain.alike >= STOPPED_REPORTS:
                stops[stopped, 0] = chain.dir
                stops[stopped, 1] = chain.lane
                stops[stopped, 2] = chain.pos
                stops[stopped, 3] = chain.vid
                stops[stopped, 4] = chain.stopped_at
                stops[stopped, 5] = chain.time + REPORT_SECONDS
                stopped += 1
            chain.alike = 0
        chain.alike += 1
        if chain.alike == STOPPED_REPORTS:
            chain.stopped_at = time[row]
        if not goes_on:
            trips += 1
            if lane[row] == ENTRANCE_LANE:
                entries += 1
        if lane[row] == EXIT_LANE:
            if not goes_on or chain.lane != EXIT_LANE:
                exits += 1
        elif not goes_on or chain.seg != seg[row]:
            notices[time[row] // MINUTE_SECONDS, dir[row], seg[row]] += 1
        chain.vid = vid[row]
        chain.time = time[row]
        chain.lane = lane[row]
        chain.dir = dir[row]
        chain.seg = seg[row]
        chain.pos = pos[row]
    return new, trips, entries, exits, stopped
