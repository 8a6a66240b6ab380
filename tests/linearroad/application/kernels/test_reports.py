"""Columns of reports, cut and encoded."""

from __future__ import annotations

import numpy as np
import pytest

from arterial.linearroad.application.kernels.base.reports import POS_MASK, REPORT_DTYPES, Reports, encode


def made(times: list[int], xways: list[int]) -> Reports:
    rng = np.random.default_rng(1)
    high = {"vid": 99, "speed": 101, "lane": 5, "dir": 2, "seg": 100, "pos": 528_000}
    columns = {name: rng.integers(0, high.get(name, 1), len(times)) for name in REPORT_DTYPES}
    return Reports.of({**columns, "time": np.array(times), "xway": np.array(xways)})


def test_parts_and_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [0, 0, 59, 60, 61, 61, 300]
    reports = made(times, [0] * 7)
    assert [part.time.tolist() for part in reports.parts()] == [[0, 0, 59], [60, 61, 61], [300]]
    monkeypatch.setattr("arterial.linearroad.application.kernels.base.reports.PART_ROWS", 1)
    assert [part.time.tolist() for part in reports.parts()] == [[0, 0], [59], [60], [61, 61], [300]]
    assert reports.seconds() == [(0, 0, 2), (59, 2, 3), (60, 3, 4), (61, 4, 6), (300, 6, 7)]
    assert made([], []).seconds() == []
    assert list(made([], []).parts()) == []


def test_cells_and_places() -> None:
    xways = [7, 7, 2**31 - 1, 0, 7, 65536, 0]
    reports = made(list(range(7)), xways)
    cell, place, known = encode(reports, np.array([3], np.int32))
    assert known[0] == 3
    assert set(known.tolist()) == {3, *xways}
    for row in range(7):
        index = known.tolist().index(xways[row])
        assert cell[row] == (2 * index + int(reports.dir[row])) * 100 + int(reports.seg[row])
        assert place[row] == int(reports.pos[row]) + (int(reports.lane[row]) << 20) + (int(reports.speed[row]) << 25)
        assert place[row] & POS_MASK == reports.pos[row]
    again, _, same = encode(reports, known)
    assert (again == cell).all()
    assert same is known
