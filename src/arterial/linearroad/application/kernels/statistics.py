"""Segment statistics (VLDB 2004, §3.2.2): vehicles of a segment and minute, and the latest average velocity, exactly.

A minute's mean is the mean over vehicles of each vehicle's mean speed. Along a trip a vehicle has one or two reports in
a segment and minute, so twice the sum of the means is a whole number that every report changes; the rare other vehicles
come as `Uneven`. Means are never rounded before the end: a velocity of exactly 40 stays 40.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import int8, int16, int32, kernel, reads, uint8, writes
from arterial.linearroad.application.kernels.trips import Followed
from arterial.linearroad.application.kernels.uneven import Uneven
from arterial.linearroad.semantics.city import LAV_MINUTES, MINUTE_SECONDS, REPORT_SECONDS, SEGMENTS
from arterial.network.state import State

NO_LAV = -1
"""Where no vehicle reported in any of the five minutes."""


@dataclass(frozen=True)
class Levels:
    """What a minute's tolls depend on: by cell, the latest average velocity and the cars of the minute before."""

    minute: int
    lav: Array
    cars: Array


def gather(state: State, followed: Followed) -> Levels | None:
    """Add these reports to their minute; in the first train of a minute, the levels that hold in it.

    State: the minute that is under way, and the five before it in a ring.
    """
    chunk = chunks.read(state, "minute")
    levels = None
    if chunk is None or chunks.stamp_of(chunk) != followed.minute:
        if chunk is not None:
            assert followed.uneven is not None, "a minute ends together with its trips"
            _close(state, chunk, followed.uneven)
        levels = _levels(state, followed.minute, followed.cells)
        chunk = NOTHING
    cars, doubled = grown(chunk["cars"], followed.cells), grown(chunk["doubled"], followed.cells)
    reports = followed.reports
    add_reports(reports.time, followed.cell, reports.speed, followed.prev_seg, followed.prev_speed, cars, doubled)
    chunks.write(state, "minute", "", followed.minute, {"cars": cars, "doubled": doubled})
    return levels


def grown(values: Array, cells: int) -> Array:
    """A copy with zeros for the cells that are new."""
    larger = np.zeros(max(cells, values.size), values.dtype)
    larger[: values.size] = values
    return larger


def _close(state: State, chunk: dict[str, Array], uneven: Uneven) -> None:
    """Put the minute into the ring, the uneven vehicles apart from the others."""
    minute = chunks.stamp_of(chunk)
    cars, doubled = chunk["cars"].copy(), chunk["doubled"].copy()
    np.subtract.at(cars, uneven.cell, uneven.trips.astype(np.int32))
    np.subtract.at(doubled, uneven.cell, uneven.doubled.astype(np.int32))
    apart: dict[str, Array] = {
        "uneven_cell": uneven.cell.astype(np.int32),
        "uneven_reports": uneven.reports.astype(np.int16),
        "uneven_speed_sum": uneven.speed_sum.astype(np.int32),
    }
    chunks.write(
        state, "history", chunks.slot(minute, LAV_MINUTES), minute, {"cars": cars, "doubled": doubled, **apart}
    )


def _levels(state: State, minute: int, cells: int) -> Levels:
    """The levels that hold in a minute, from the five minutes before it."""
    before = [
        chunks.read_of(state, "history", chunks.slot(minute - back, LAV_MINUTES), minute - back) or NOTHING
        for back in range(1, LAV_MINUTES + 1)
    ]
    cells = max(cells, *(chunk["cars"].size for chunk in before))
    cars = np.concatenate([grown(chunk["cars"], cells) for chunk in before])
    doubled = np.concatenate([grown(chunk["doubled"], cells) for chunk in before])
    lav = average_velocity(cars, doubled)
    counted = cars[:cells].copy()

    # What does not fit into 64 bits, or has vehicles apart, is computed in fractions.
    means: dict[int, list[tuple[int, Fraction]]] = {cell: [] for cell in np.flatnonzero(lav == UNDECIDED).tolist()}
    for back, chunk in enumerate(before):
        rows = zip(*(chunk[f"uneven_{name}"].tolist() for name in ("cell", "speed_sum", "reports")), strict=True)
        for cell, speed_sum, reports in rows:
            means.setdefault(cell, []).append((back, Fraction(speed_sum, reports)))
            counted[cell] += back == 0
    for cell, apart in means.items():
        lav[cell] = exact_velocity(cars[cell::cells].tolist(), doubled[cell::cells].tolist(), apart)
    return Levels(minute, lav, counted)


def exact_velocity(cars: list[int], doubled: list[int], apart: list[tuple[int, Fraction]]) -> int:
    """The floor of the mean over the minutes of the mean over vehicles; `apart` has means with their minute's index."""
    sums = [Fraction(total, 2) for total in doubled]
    counts = list(cars)
    for index, mean in apart:
        sums[index] += mean
        counts[index] += 1
    means = [total / count for total, count in zip(sums, counts, strict=True) if count]
    return int(sum(means) // len(means)) if means else NO_LAV


NOTHING = {
    name: np.empty(0, np.int32) for name in ("cars", "doubled", "uneven_cell", "uneven_reports", "uneven_speed_sum")
}
UNDECIDED = -2


@kernel(
    reads(int32),
    reads(int32),
    reads(int16),
    reads(int8),
    reads(uint8),
    writes(int32),
    writes(int32),
)
def add_reports(
    time: Array, cell: Array, speed: Array, prev_seg: Array, prev_speed: Array, cars: Array, doubled: Array
) -> None:
    """Add reports to their cells: vehicles, and twice the sum of the vehicles' mean speeds.

    The second report of a trip in a cell turns the mean v into (v + w) / 2, so it adds w - v to the doubled sum.
    """
    for row in range(cell.size):
        at = cell[row]
        if time[row] % MINUTE_SECONDS >= REPORT_SECONDS and prev_seg[row] == at % SEGMENTS:
            doubled[at] += speed[row] - np.int32(prev_speed[row])
        else:
            cars[at] += 1
            doubled[at] += 2 * speed[row]


@kernel(reads(int32), reads(int32), gives=writes(int16))
def average_velocity(cars: Array, doubled: Array) -> Array:
    """The floor of the mean over five minutes of `doubled / (2 * cars)`, minutes without cars left out; -1 if all are.

    The minutes stand one after the other. The fractions get one denominator where that fits 64 bits; else floating
    point decides if it is not near a whole number, and what it cannot decide is given as `UNDECIDED`.
    """
    cells = cars.size // LAV_MINUTES
    lav = np.empty(cells, np.int16)
    for cell in range(cells):
        minutes = 0
        product = 1.0
        mean = 0.0
        for at in range(cell, cars.size, cells):
            if cars[at] > 0:
                minutes += 1
                product *= 2.0 * cars[at]
                mean += doubled[at] / (2.0 * cars[at])
        if minutes == 0:
            lav[cell] = NO_LAV
        elif product < 1e15:
            numerator = np.int64(0)
            denominator = np.int64(1)
            for at in range(cell, cars.size, cells):
                if cars[at] > 0:
                    below = 2 * np.int64(cars[at])
                    numerator = numerator * below + doubled[at] * denominator
                    denominator *= below
            lav[cell] = numerator // (denominator * minutes)
        else:
            mean /= minutes
            lav[cell] = UNDECIDED if abs(mean - np.rint(mean)) < 1e-6 else np.int16(np.floor(mean))
    return lav
