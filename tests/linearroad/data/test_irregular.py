"""Irregular reports are counted, against a loop that remembers everything."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial.linearroad.data.irregular import Watch
from tests.linearroad.traffic import balance, drive_along, report, table_of

Rows = list[tuple[int, ...]]


def watched(rows: Rows, pieces: int = 1) -> tuple[Watch, list[int], list[bool]]:
    watch = Watch()
    xways: list[int] = []
    repeats: list[bool] = []
    for start, stop in pairwise(np.linspace(0, len(rows), pieces + 1).astype(int)):
        found = watch.look_at(table_of(rows[start:stop]))
        xways += found.xways.tolist()
        repeats += found.repeats.tolist()
    return watch, xways, repeats


def test_regular_traffic_has_nothing_irregular() -> None:
    watch, _, repeats = watched(drive_along(50, 600))
    assert watch.irregular == 0
    assert not any(repeats)


def test_what_is_irregular() -> None:
    rows = [
        report(0, 1, lane=1),  # the stream may begin on a full road
        report(25, 1),  # early
        report(55, 1),
        report(100, 1, lane=3),  # came back, off the ramp
        report(140, 1, lane=0),  # a new trip
        report(141, 2, lane=2),  # never seen, off the ramp
    ]
    watch, _, _ = watched(rows)
    assert (watch.early, watch.off_ramp) == (1, 2)


def test_a_request_belongs_to_the_road_of_its_vehicle() -> None:
    rows = [balance(0, 5, 1), report(0, 5, xway=3), balance(0, 5, 2), balance(30, 5, 3), balance(31, 5, 4)]
    _, xways, _ = watched(rows)
    assert xways == [3, 3, 3, 3, 3]
    rows = [report(0, 9, xway=8), report(0, 5, xway=3), balance(30, 5, 3), balance(31, 5, 4)]
    _, xways, _ = watched(rows)
    assert xways == [8, 3, 3, 8]


traffic = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=60
).map(
    lambda rows: sorted(
        (report(t, v, lane=lane, xway=x) if kind else balance(t, v, 1) for t, v, lane, x, kind in rows),
        key=lambda row: row[1],
    )
)


@pytest.mark.thorough
@settings(deadline=None)
@given(traffic, st.integers(1, 5))
def test_against_a_loop(rows: Rows, pieces: int) -> None:
    watch, xways, repeats = watched(rows, pieces)
    last: dict[int, tuple[int, int]] = {}
    early = off_ramp = 0
    first_report = next((row for row in rows if row[0] == 0), None)
    for place, row in enumerate(rows):
        kind, time, vid, xway, lane = row[0], row[1], row[2], row[4], row[5]
        before = last.get(vid)
        recent = before is not None and time - before[0] <= 30
        if kind != 0:
            if recent and before is not None:
                assert xways[place] == before[1]
            elif first_report is not None and rows.index(first_report) < place:
                assert xways[place] == first_report[4]
            continue
        assert repeats[place] == (recent and before is not None and before[0] == time)
        assert xways[place] == xway
        if repeats[place]:
            continue
        early += recent and before is not None and time - before[0] < 30
        off_ramp += not recent and lane != 0 and time >= rows[0][1] + 30
        last[vid] = (time, xway)
    assert (watch.early, watch.off_ramp) == (early, off_ramp)


def test_silent_vehicles_are_forgotten() -> None:
    watch = Watch()
    for start in range(0, 40_000, 1000):
        watch.look_at(table_of([report(time, time % 5 + 10 * time, lane=0) for time in range(start, start + 1000)]))
    assert len(watch._vids) <= 4096
