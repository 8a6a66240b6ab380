"""Trips: each report finds its predecessor, the same vehicle's report on the same road exactly 30 s earlier (§3.2.1).

The state is a ring of 30 slots, one a second: reports of second t meet the slot of t - 30 and overwrite it, so that
what is read and written equals the input of a second and never the whole city. What a report finds is handed on as
columns; the boxes behind use them, and the row of the predecessor, instead of searching again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import (
    int8,
    int32,
    int64,
    kernel,
    narrowed,
    reads,
    several,
    uint8,
    uint32,
    writes,
)
from arterial.linearroad.application.kernels.base.hashing import bits_for, home
from arterial.linearroad.application.kernels.base.reports import PLACE_MASK, RUN_SHIFT, SPEED_SHIFT, Reports, encode
from arterial.linearroad.application.kernels.uneven import Ledger, Uneven, merge_trips
from arterial.linearroad.semantics.city import MINUTE_SECONDS, REPORT_SECONDS, SEGMENTS, STOPPED_REPORTS, minute_of
from arterial.network.state import State

STOPPED_RUN = STOPPED_REPORTS - 1  # the packed run counts the identical reports before this one, up to so many


@dataclass(frozen=True)
class Followed:
    """Reports of (a part of) one minute with what is known from their predecessors."""

    reports: Reports
    cell: Array  # (expressway, direction, segment) as a number within the shard
    place: Array  # packed
    pred: Array  # row of the predecessor among the reports of its second, -1 for the first of a trip
    prev_seg: Array  # -1 for the first of a trip
    prev_speed: Array
    stopped: Array  # rows of the reports that are at least the fourth in one place
    uneven: Uneven | None  # of the minute before, in the first train of a minute

    @classmethod
    def of(
        cls,
        reports: Reports,
        cell: Array,
        place: Array,
        pred: Array,
        prev_seg: Array,
        prev_speed: Array,
        uneven: Uneven | None,
    ) -> Followed:
        """Put together again from columns, for a box that gets them from another."""
        stopped = np.flatnonzero(place >> RUN_SHIFT & 3 == STOPPED_RUN).astype(np.int32)
        return cls(reports, cell, place, pred, prev_seg, prev_speed, stopped, uneven)

    @property
    def minute(self) -> int:
        """M(t) of all these reports."""
        return minute_of(int(self.reports.time[0]))

    @property
    def cells(self) -> int:
        """The number of cells that arrays over cells need."""
        return 2 * SEGMENTS * (int(self.cell.max()) // (2 * SEGMENTS) + 1)


def follow(state: State, reports: Reports) -> Followed:
    """Give every report of (a part of) one minute its predecessor, and remember it for the next 30 s."""
    ledger = Ledger.read(state)
    minute = minute_of(int(reports.time[0]))
    uneven = None
    if ledger.minute != minute:
        uneven, twins = merge_trips(state, ledger)
        ledger = Ledger.opened(minute, ledger.xways, twins)

    cell, place, xways = encode(reports, ledger.xways)
    pred = np.empty(len(reports), np.int32)
    prev_seg = np.empty(len(reports), np.int8)
    prev_speed = np.empty(len(reports), np.uint8)
    stopped: list[Array] = []
    added = []
    for second, start, stop in reports.seconds():
        key = chunks.slot(second, REPORT_SECONDS)
        old = chunks.read_of(state, "trips", key, second - REPORT_SECONDS) or NOBODY
        old_vid, old_cell, old_place = old["vid"].astype(np.int64), old["cell"], old["place"]
        rows = slice(start, stop)
        vid = reports.vid[rows]
        fresh, gone, still = find_predecessors(
            vid,
            cell[rows],
            place[rows],
            old_vid,
            old_cell,
            old_place,
            pred[rows],
            prev_seg[rows],
            prev_speed[rows],
        )
        stopped.append(still + np.int32(start))
        # Only what is of the same minute counts in its statistics.
        within = second % MINUTE_SECONDS >= REPORT_SECONDS
        gone = gone if within else gone[:0]
        before = rows if within else slice(0, 0)
        added.append((second, vid[fresh], old_vid[gone], old_cell[gone], old_place[gone]))
        kept = {
            "cell": cell[rows],
            "place": place[rows],
            "prev_seg": prev_seg[before],
            "prev_speed": prev_speed[before],
        }
        copies = {name: values.copy() for name, values in kept.items()}
        chunks.write(state, "trips", key, second, {"vid": narrowed(vid), **copies})

    ledger.extended(xways, added).write(state)
    return Followed(reports, cell, place, pred, prev_seg, prev_speed, np.concatenate(stopped), uneven)


NOBODY: dict[str, Array] = {
    "vid": np.empty(0, np.int32),
    "cell": np.empty(0, np.int32),
    "place": np.empty(0, np.uint32),
}


@kernel(
    reads(int64),
    reads(int32),
    writes(uint32),
    reads(int64),
    reads(int32),
    reads(uint32),
    writes(int32),
    writes(int8),
    writes(uint8),
    gives=several(writes(int32), writes(int32), writes(int32)),
)
def find_predecessors(
    vid: Array,
    cell: Array,
    place: Array,
    old_vid: Array,
    old_cell: Array,
    old_place: Array,
    pred: Array,
    prev_seg: Array,
    prev_speed: Array,
) -> tuple[Array, Array, Array]:
    """Join the reports of one second with those of 30 s before, by vehicle and road; add the run to the packed places.

    Gives the rows without predecessor, the old rows without successor, and the rows of stopped vehicles.
    """
    bits = bits_for(old_vid.size)
    mask = (1 << bits) - 1
    slots = np.full(1 << bits, -1, np.int32)
    for row in range(old_vid.size):
        slot = home(old_vid[row], bits)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = row

    followed = np.zeros(old_vid.size, np.bool_)
    fresh = np.empty(vid.size, np.int32)
    stopped = np.empty(vid.size, np.int32)
    n_fresh = 0
    n_stopped = 0
    for row in range(vid.size):
        road = cell[row] // SEGMENTS
        slot = home(vid[row], bits)
        found = slots[slot]
        while found >= 0 and (old_vid[found] != vid[row] or old_cell[found] // SEGMENTS != road):
            slot = (slot + 1) & mask
            found = slots[slot]
        pred[row] = found
        if found < 0:
            prev_seg[row] = -1
            prev_speed[row] = 0
            fresh[n_fresh] = row
            n_fresh += 1
            continue
        followed[found] = True
        before = old_place[found]
        prev_seg[row] = old_cell[found] - road * SEGMENTS
        prev_speed[row] = before >> np.uint32(SPEED_SHIFT)
        if (before ^ place[row]) & np.uint32(PLACE_MASK) == 0:
            run = min(((before >> np.uint32(RUN_SHIFT)) & np.uint32(3)) + np.uint32(1), np.uint32(STOPPED_RUN))
            place[row] |= np.uint32(run) << np.uint32(RUN_SHIFT)
            if run == STOPPED_RUN:
                stopped[n_stopped] = row
                n_stopped += 1

    gone = np.empty(old_vid.size, np.int32)
    n_gone = 0
    for row in range(old_vid.size):
        if not followed[row]:
            gone[n_gone] = row
            n_gone += 1
    return fresh[:n_fresh].copy(), gone[:n_gone].copy(), stopped[:n_stopped].copy()
