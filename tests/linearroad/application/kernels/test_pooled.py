"""Statistics over pooled reports."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from arterial.errors import ArterialError
from arterial.linearroad.application.kernels.base.reports import REPORT_DTYPES
from arterial.linearroad.application.kernels.host import LinearRoadKernels
from arterial.linearroad.application.kernels.pooled import Minute, open_minute, pool_reports
from arterial.linearroad.semantics.profiles import SPEC, WALMART
from arterial.network.state import MemoryState


def test_pooling() -> None:
    rng = np.random.default_rng(10)
    time, cell = rng.integers(60, 120, 500).astype(np.int32), rng.integers(0, 5, 500).astype(np.int32)
    speed, prev_seg = rng.integers(0, 101, 500).astype(np.int16), rng.integers(-1, 5, 500).astype(np.int8)
    cars, reports, speeds = (np.zeros(200, np.int32) for _ in range(3))
    pool_reports(time, cell, speed, prev_seg, cars, reports, speeds)
    for at in range(5):
        mine = cell == at
        assert (reports[at], speeds[at]) == (mine.sum(), speed[mine].sum())
        assert cars[at] == (mine & ((time < 90) | (prev_seg != at))).sum()


@pytest.mark.parametrize(("profile", "half"), [(SPEC, Fraction(0)), (WALMART, Fraction(1, 2))])
def test_velocity_of_five_minutes(profile, half: Fraction) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(11)
    state = MemoryState()
    history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for minute in range(1, 9):
        sums, levels = open_minute(state, minute, 50, profile)
        assert levels is not None
        for cell in range(50):
            reports, speeds = (sum(int(h[i][cell]) for h in history[-5:]) for i in (1, 2))
            assert levels.lav[cell] == (floor(Fraction(speeds, reports) + half) if reports else -1)
            assert levels.cars[cell] == (history[-1][0][cell] if history else 0)
        reports = rng.integers(0, 3, 50)
        values = (rng.integers(0, 9, 50), reports, reports * 39 + (reports > 0) * rng.integers(0, 2, 50))
        history.append(values)
        Minute(*(v.astype(np.int32) for v in values)).write(state, "minute", "", minute)
        assert open_minute(state, minute, 50, profile)[1] is None
        del sums


def test_a_vehicle_number_that_does_not_fit_says_so() -> None:
    columns = {name: np.zeros(1, np.int64) for name in REPORT_DTYPES}
    columns["vid"][0] = 2**60
    assert LinearRoadKernels().feed(columns).notices.vid.tolist() == [2**60]
    with pytest.raises(ArterialError, match="too large"):
        LinearRoadKernels(WALMART).feed(columns)
