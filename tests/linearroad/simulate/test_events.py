"""Reports as events: every column against a plain loop; groups of whole seconds; the merged flat file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.simulate.events import GROUP_ROWS, Expressway, event_groups, second_groups
from arterial.linearroad.simulate.merge import merge_to_csv
from arterial.linearroad.simulate.model.road import Reports
from arterial.linearroad.simulate.requests import has_request, make_request
from arterial.linearroad.simulate.spool import no_reports, read_reports, spool_reports


def some_reports(seed: int, seconds: int = 40, most: int = 60) -> Reports:
    chance = np.random.default_rng(seed)
    until = np.cumsum(chance.integers(0, most, seconds))
    count = int(until[-1])
    return Reports(
        chance.integers(0, 50, count).astype(np.int32),
        chance.integers(0, 528_000, count).astype(np.int32),
        chance.integers(0, 101, count).astype(np.int8),
        chance.integers(0, 5, count).astype(np.int8),
        until,
    )


@pytest.mark.thorough
def test_events_against_a_loop() -> None:
    east, west = some_reports(1), some_reports(2)
    vehicle = np.arange(50, dtype=np.int64) * 7
    table = pa.concat_tables(event_groups(Expressway(2, 3, 9, east, west, vehicle)))
    asked = np.random.default_rng([9, 2, 40]).integers(0, 2**62, 2)
    expected, questions = [], 0
    for second in range(40):
        spans = []
        for direction, reports in ((0, east), (1, west)):
            span = range(reports.until[second - 1] if second else 0, reports.until[second])
            spans.append((direction, reports, span))
            for r in span:
                pos = int(reports.along[r]) if direction == 0 else 527_999 - int(reports.along[r])
                line = [0, second, vehicle[reports.trip[r]], reports.speed[r], 2, reports.lane[r], direction]
                expected.append([int(x) for x in line] + [pos // 5280, pos] + [-1] * 6)
        for direction, reports, span in spans:
            for r in span:
                if has_request(asked[direction], r):
                    q = make_request(asked[direction], r, 3)
                    line = [q.type, second, vehicle[reports.trip[r]], -1, q.xway, -1, -1, -1, -1, questions * 3 + 2]
                    expected.append([int(x) for x in line] + [q.sinit, q.send, q.dow, q.tod, q.day])
                    questions += 1
    assert questions > 5
    assert table.schema == EVENT_SCHEMA
    assert [list(row.values()) for row in table.to_pylist()] == expected


@given(st.lists(st.integers(0, GROUP_ROWS * 2), max_size=60))
def test_groups_are_whole_seconds_and_small(rows: list[int]) -> None:
    groups = list(second_groups(np.array(rows, np.int64)))
    assert [second for first, stop in groups for second in range(first, stop)] == list(range(len(rows)))
    for first, stop in groups:
        assert sum(rows[first:stop]) <= GROUP_ROWS or stop - first == 1


def test_spool_round_trip(tmp_path: Path) -> None:
    first, second = some_reports(3), some_reports(4)
    assert spool_reports(tmp_path / "spool", [first, second]) == len(first.trip) + len(second.trip)
    back = read_reports(tmp_path / "spool")
    for name in ("trip", "along", "speed", "lane"):
        np.testing.assert_array_equal(
            getattr(back, name), np.concatenate([getattr(first, name), getattr(second, name)])
        )
    np.testing.assert_array_equal(back.until, np.concatenate([first.until, second.until + len(first.trip)]))


def test_spool_of_nothing(tmp_path: Path) -> None:
    assert spool_reports(tmp_path / "spool", [no_reports(5)]) == 0
    assert len(read_reports(tmp_path / "spool").trip) == 0


def test_merge_is_ordered_by_time_and_loses_nothing(tmp_path: Path) -> None:
    files, lines = [], []
    for xway in range(2):
        road = Expressway(xway, 2, 1, some_reports(xway), no_reports(40), np.arange(50, dtype=np.int64))
        files.append(tmp_path / f"{xway}.parquet")
        with pq.ParquetWriter(files[-1], EVENT_SCHEMA) as writer:
            for group in event_groups(road, seconds_a_group=7):
                writer.write_table(group)
                lines += [tuple(row.values()) for row in group.to_pylist()]
    merge_to_csv(files, tmp_path / "events.csv", lambda _: None)
    merged = [tuple(map(int, line.split(","))) for line in (tmp_path / "events.csv").read_text().splitlines()]
    assert merged == sorted(lines, key=lambda line: line[1])  # both sorts are stable
