"""Vehicles with several trips in a segment and minute."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.application.kernels.base.reports import REPORT_DTYPES, Reports
from arterial.linearroad.application.kernels.trips import follow
from arterial.network.state import MemoryState


def drive(state: MemoryState, rows: list[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    """Follow reports (time, vid, seg, speed) and one of a later minute; the uneven vehicles of the last minute."""
    for time in sorted({row[0] for row in rows}):
        now = [row for row in rows if row[0] == time]
        columns = {name: np.zeros(len(now), np.int64) for name in REPORT_DTYPES}
        for name, values in zip(("time", "vid", "seg", "speed"), zip(*now, strict=True), strict=True):
            columns[name] = np.array(values)
        followed = follow(state, Reports.of(columns))
    uneven = followed.uneven
    assert uneven is not None
    parts = (uneven.cell, uneven.trips, uneven.doubled, uneven.reports, uneven.speed_sum)
    return sorted(zip(*(part.tolist() for part in parts), strict=True))


LATER = (60, 9, 0, 0)


def test_regular_trips_are_even() -> None:
    assert drive(MemoryState(), [(5, 1, 3, 40), (35, 1, 3, 50), (7, 2, 3, 40), (37, 2, 4, 50), LATER]) == []


def test_interleaved_trips() -> None:
    rows = [(5, 1, 3, 40), (20, 1, 3, 50), (35, 1, 3, 41), (50, 1, 4, 60), (6, 2, 3, 9), LATER]
    assert drive(MemoryState(), rows) == [(3, 2, 81 + 100, 3, 131)]


def test_a_trip_that_ends_and_begins_again() -> None:
    assert drive(MemoryState(), [(5, 1, 3, 40), (35, 8, 0, 0), (50, 1, 3, 50), LATER]) == [(3, 2, 180, 2, 90)]
    assert drive(MemoryState(), [(5, 1, 3, 40), (50, 1, 3, 50), LATER]) == [(3, 2, 180, 2, 90)]


def test_trips_that_go_on_interleaved_for_minutes() -> None:
    rows = [(t, 1, 3, 40) for t in range(5, 300, 15)]
    state = MemoryState()
    assert drive(state, [*rows, (300, 9, 0, 0)]) == [(3, 2, 160, 4, 160)]


def test_another_road_or_segment_is_another_cell() -> None:
    assert drive(MemoryState(), [(5, 1, 3, 40), (20, 1, 4, 50), LATER]) == []
