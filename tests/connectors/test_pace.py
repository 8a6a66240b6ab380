"""When an event time is due, for all processes that share a start."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from arterial.connectors.pace import MAX, Pace, parse_speed, show_speed


def test_a_start_is_shared_and_kept(tmp_path: Path) -> None:
    one, other = (Pace(10, 2.0, 100, tmp_path / "clock.json") for _ in range(2))
    assert not one.started
    assert one.start(1000.0) == 1000.0
    assert other.started
    assert other.start(2000.0) == 1000.0
    assert pickle.loads(pickle.dumps(one)).due(210) == 1001.0


def test_without_a_file_each_has_its_own_start() -> None:
    one, other = Pace(0, 1.0), Pace(0, 1.0)
    one.start(5.0)
    assert other.start(7.0) == 7.0
    assert one.start() == 5.0
    assert one == other  # the start is no part of what it is


@pytest.mark.parametrize("speed", [0.1, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("units", [1, 10, 1_000_000])
def test_what_is_due_is_the_last_that_is_due(speed: float, units: int) -> None:
    pace = Pace(50, speed, units)
    pace.start(1_800_000_000.0)
    for when in (50, 51, 99, 12_345):
        assert pace.last_due(pace.due(when) + 1e-6) >= when
        assert pace.last_due(pace.due(when) - max(1.5 / units / speed, 1e-6)) < when
    assert pace.due(np.array([50.0, 51.0])).tolist() == [pace.due(50), pace.due(51)]


def test_as_fast_as_possible_all_is_due_at_the_start() -> None:
    pace = Pace(0, MAX)
    assert pace.runs_freely
    assert pace.due(10**9) == pace.start()
    assert (show_speed(MAX), show_speed(2.0), parse_speed("2")) == ("max", 2.0, 2.0)
