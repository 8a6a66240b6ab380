"""Watching clean events for what is valid but irregular, and for the expressway that a vehicle is on.

A vehicle reports every 30 s and enters in lane 0 (§3.1.1). Real files break both; such reports are counted, not set
aside. Only vehicles of the last 30 seconds are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import ENTRANCE_LANE, REPORT_SECONDS
from arterial.network.keys.hash_kernels import place_in


@dataclass(frozen=True)
class Watched:
    """For every event the expressway that its vehicle is on, and whether it repeats a report of the same second."""

    xways: NDArray[np.int32]
    repeats: NDArray[np.bool_]


class Watch:
    """Counts irregular reports of a stream in time order.

    `early`: less than 30 s after the vehicle's last report. `off_ramp`: more than 30 s after it, or the vehicle's
    first, and not in lane 0; the first 30 seconds of a stream, which may begin on a full road, do not count.
    """

    def __init__(self) -> None:
        self.early = self.off_ramp = 0
        self._first_time = self._first_xway = -1
        self._vids = np.full(1024, -1, np.int64)
        self._times = np.zeros(1024, np.int32)
        self._xways = np.zeros(1024, np.int32)

    @property
    def irregular(self) -> int:
        """All reports that are valid and not as the paper has them."""
        return self.early + self.off_ramp

    def look_at(self, events: pa.Table) -> Watched:
        """Take the next events into account."""
        rows = events.num_rows
        xways = np.empty(rows, np.int32)
        repeats = np.zeros(rows, np.bool_)
        if rows:
            kind, time, vid, lane, xway = (_numpy(events, name) for name in ("type", "time", "vid", "lane", "xway"))
            if self._first_time < 0:
                self._first_time = int(time[0])
            if self._first_xway < 0 and (reports := np.flatnonzero(kind == 0)).size:
                self._first_xway = int(xway[reports[0]])
            early, off_ramp, self._vids, self._times, self._xways = watch_reports(
                kind, time, vid, lane, xway, self._first_time, self._first_xway,
                self._vids, self._times, self._xways, xways, repeats,
            )  # fmt: skip
            self.early += early
            self.off_ramp += off_ramp
        return Watched(xways, repeats)


def _numpy(events: pa.Table, name: str) -> NDArray[Any]:
    column: NDArray[Any] = events[name].to_numpy()
    return column


@njit(cache=True, nogil=True)
def slot_of(vids: Any, vid: int) -> Any:
    """Where the vehicle is in the hash table, or the free slot where it belongs."""
    mask = len(vids) - 1
    slot = place_in(np.uint64(vid), len(vids))
    while vids[slot] != -1 and vids[slot] != vid:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def without_silent(vids: Any, times: Any, xways: Any, oldest: int) -> Any:
    """The hash table without vehicles last heard of before `oldest`, at most a quarter full; and how many they are."""
    live = 0
    for slot in range(len(vids)):
        if vids[slot] != -1 and times[slot] >= oldest:
            live += 1
    size = 1024
    while size < 4 * live:
        size *= 2
    new_vids = np.full(size, -1, np.int64)
    new_times = np.zeros(size, np.int32)
    new_xways = np.zeros(size, np.int32)
    for slot in range(len(vids)):
        if vids[slot] != -1 and times[slot] >= oldest:
            to = slot_of(new_vids, vids[slot])
            new_vids[to] = vids[slot]
            new_times[to] = times[slot]
            new_xways[to] = xways[slot]
    return new_vids, new_times, new_xways, live


@njit(cache=True, nogil=True)
def watch_reports(
    kind: Any, time: Any, vid: Any, lane: Any, xway: Any, first_time: int, first_xway: int,
    vids: Any, times: Any, xways: Any, xway_of: Any, repeats: Any,
) -> Any:  # fmt: skip
    """Count early reports and reports off the ramp, and fill in `xway_of` and `repeats`."""
    early = off_ramp = 0
    held = len(vids) // 2
    for row in range(len(kind)):
        if held >= len(vids) // 2:
            vids, times, xways, held = without_silent(vids, times, xways, time[row] - REPORT_SECONDS)
        slot = slot_of(vids, vid[row])
        known = vids[slot] != -1 and time[row] - times[slot] <= REPORT_SECONDS
        if kind[row] != 0:
            xway_of[row] = xways[slot] if known else first_xway
            continue
        xway_of[row] = xway[row]
        if known:
            gap = time[row] - times[slot]
            if gap == 0:
                repeats[row] = True
                continue
            if gap < REPORT_SECONDS:
                early += 1
        elif lane[row] != ENTRANCE_LANE and time[row] >= first_time + REPORT_SECONDS:
            off_ramp += 1
        if vids[slot] == -1:
            held += 1
        vids[slot] = vid[row]
        times[slot] = time[row]
        xways[slot] = xway[row]
    return early, off_ramp, vids, times, xways
