"""Position reports as columns, cut into minutes and seconds (VLDB 2004, §3.1.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base.compiled import (
    column,
    int8,
    int16,
    int32,
    int64,
    kernel,
    reads,
    uint32,
    writes,
)
from arterial.linearroad.semantics.city import MINUTE_SECONDS, SEGMENTS

SPEED_SHIFT = 25
RUN_SHIFT = 23
LANE_SHIFT = 20
POS_MASK = (1 << LANE_SHIFT) - 1
PLACE_MASK = (1 << RUN_SHIFT) - 1
"""The bits of a packed place: pos 0–19, lane 20–22, run 23–24 (see `trips`), speed 25–31."""


@dataclass(frozen=True)
class Reports:
    """Position reports of whole seconds, in the order of time; a vehicle has at most one a second."""

    time: Array
    vid: Array
    speed: Array
    xway: Array
    lane: Array
    dir: Array
    seg: Array
    pos: Array

    @classmethod
    def of(cls, columns: Mapping[str, Array]) -> Reports:
        """The reports in these columns, each brought to the type that the kernels are compiled for."""
        return cls(**{name: column(columns[name], dtype) for name, dtype in REPORT_DTYPES.items()})

    def __len__(self) -> int:
        return self.time.size

    def rows(self, start: int, stop: int) -> Reports:
        """A view of some consecutive reports."""
        return Reports(**{field.name: getattr(self, field.name)[start:stop] for field in fields(self)})

    def parts(self) -> Iterator[Reports]:
        """Whole seconds of one minute at a time, as views."""
        for rows in part_rows(self.time):
            yield self if rows.stop - rows.start == len(self) else self.rows(rows.start, rows.stop)

    def seconds(self) -> list[tuple[int, int, int]]:
        """Each second that has reports, with its first row and the row after its last."""
        bounds = [0, *(np.flatnonzero(np.diff(self.time)) + 1).tolist(), len(self)]
        return [(int(self.time[a]), a, b) for a, b in pairwise(bounds) if b > a]


PART_ROWS = 120_000


def part_rows(time: Array) -> Iterator[slice]:
    """The rows of whole seconds of one minute at a time; few enough at once to stay in the processor's cache."""
    start = 0
    while start < time.size:
        after = (int(time[start]) // MINUTE_SECONDS + 1) * MINUTE_SECONDS
        stop = int(np.searchsorted(time, after))
        if stop - start > PART_ROWS:
            full = int(time[start + PART_ROWS])
            stop = int(np.searchsorted(time, max(full, int(time[start]) + 1)))
        yield slice(start, stop)
        start = stop


REPORT_DTYPES: dict[str, type[np.generic]] = {
    "time": np.int32,
    "vid": np.int64,
    "speed": np.int16,
    "xway": np.int32,
    "lane": np.int8,
    "dir": np.int8,
    "seg": np.int16,
    "pos": np.int32,
}


def encode(reports: Reports, xways: Array) -> tuple[Array, Array, Array]:
    """The reports' cells and packed places; and the shard's expressways, with those that are new at the end.

    A cell numbers (expressway, direction, segment) within the shard: `(2 * index of xway + dir) * 100 + seg`.
    """
    cell = np.empty(len(reports), np.int32)
    place = np.empty(len(reports), np.uint32)
    start = 0
    while start < len(reports):
        start = _encode(
            start, reports.xway, reports.dir, reports.seg, reports.pos, reports.lane, reports.speed, xways, cell, place
        )
        if start < len(reports):
            unseen = np.setdiff1d(reports.xway[start:], xways)
            xways = np.concatenate([xways, unseen]).astype(np.int32)
    return cell, place, xways


@kernel(
    int64,
    reads(int32),
    reads(int8),
    reads(int16),
    reads(int32),
    reads(int8),
    reads(int16),
    reads(int32),
    writes(int32),
    writes(uint32),
    gives=int64,
)
def _encode(
    start: int,
    xway: Array,
    direction: Array,
    seg: Array,
    pos: Array,
    lane: Array,
    speed: Array,
    xways: Array,
    cell: Array,
    place: Array,
) -> int:
    """Fill cell and place from row `start`; the first row whose expressway is not known, or the number of rows."""
    size = 4
    while size < 4 * xways.size:
        size *= 2
    mask = size - 1
    slots = np.full(size, -1, np.int32)
    for index in range(xways.size):
        slot = (xways[index] * 40503) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = index
    last = np.int64(-1)
    base = np.int64(0)
    for row in range(start, xway.size):
        if xway[row] != last:
            last = xway[row]
            slot = (last * 40503) & mask
            while slots[slot] >= 0 and xways[slots[slot]] != last:
                slot = (slot + 1) & mask
            if slots[slot] < 0:
                return row
            base = np.int64(slots[slot]) * (2 * SEGMENTS)
        cell[row] = base + direction[row] * SEGMENTS + seg[row]
        place[row] = (
            np.uint32(pos[row])
            | (np.uint32(lane[row]) << np.uint32(LANE_SHIFT))
            | (np.uint32(speed[row]) << np.uint32(SPEED_SHIFT))
        )
    return xway.size
