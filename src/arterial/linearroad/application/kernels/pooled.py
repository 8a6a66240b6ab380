"""Segment statistics over pooled reports, for the profiles whose velocity is one mean over five minutes' reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import int8, int16, int32, kernel, reads, writes
from arterial.linearroad.application.kernels.statistics import NO_LAV, Levels, grown
from arterial.linearroad.application.kernels.uneven import Uneven
from arterial.linearroad.semantics.city import LAV_MINUTES, MINUTE_SECONDS, REPORT_SECONDS, SEGMENTS
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.state import State


@dataclass(frozen=True)
class Minute:
    """The sums of a minute by cell; whoever has it fills it in place."""

    cars: Array
    reports: Array
    speeds: Array

    def write(self, state: State, table: str, key: str, minute: int) -> None:
        """Keep it, as the minute under way or in the ring of those before."""
        chunks.write(state, table, key, minute, {"cars": self.cars, "reports": self.reports, "speeds": self.speeds})


def open_minute(
    state: State, minute: int, cells: int, profile: Profile, uneven: Uneven | None = None
) -> tuple[Minute, Levels | None]:
    """The sums of a minute so far, to be filled; if it only begins, the levels that hold in it.

    `uneven` are the vehicles of the minute before that were counted once a trip.
    """
    chunk = chunks.read(state, "minute")
    if chunk is not None and chunks.stamp_of(chunk) == minute:
        return Minute(*(grown(chunk[name], cells) for name in NAMES)), None
    if chunk is not None:
        before = chunks.stamp_of(chunk)
        cars = chunk["cars"].copy()
        if uneven is not None:
            np.subtract.at(cars, uneven.cell, (uneven.trips - 1).astype(np.int32))
        ended = Minute(cars, chunk["reports"], chunk["speeds"])
        ended.write(state, "history", chunks.slot(before, LAV_MINUTES), before)
    return Minute(*(np.zeros(cells, np.int32) for _ in NAMES)), _levels(state, minute, cells, profile)


def _levels(state: State, minute: int, cells: int, profile: Profile) -> Levels:
    before = [
        chunks.read_of(state, "history", chunks.slot(minute - back, LAV_MINUTES), minute - back) or NOTHING
        for back in range(1, LAV_MINUTES + 1)
    ]
    cells = max(cells, *(chunk["cars"].size for chunk in before))
    cars = grown(before[0]["cars"], cells)
    reports, speeds = (
        np.sum([grown(chunk[name], cells) for chunk in before], axis=0, dtype=np.int64) for name in NAMES[1:]
    )
    counted = np.maximum(reports, 1)
    mean = speeds // counted if profile.lav_rounding == "floor" else (2 * speeds + counted) // (2 * counted)
    return Levels(minute, np.where(reports > 0, mean, NO_LAV).astype(np.int16), cars)


NAMES = ("cars", "reports", "speeds")
NOTHING = {name: np.empty(0, np.int32) for name in NAMES}


@kernel(
    reads(int32),
    reads(int32),
    reads(int16),
    reads(int8),
    writes(int32),
    writes(int32),
    writes(int32),
)
def pool_reports(
    time: Array, cell: Array, speed: Array, prev_seg: Array, cars: Array, reports: Array, speeds: Array
) -> None:
    """Add reports to their cells; a car is counted with the first report of its trip in the cell and minute."""
    for row in range(cell.size):
        at = cell[row]
        if time[row] % MINUTE_SECONDS < REPORT_SECONDS or prev_seg[row] != at % SEGMENTS:
            cars[at] += 1
        reports[at] += 1
        speeds[at] += speed[row]
