"""Accidents: their number, their duration, the pair that has one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.semantics.city import EAST, WEST
from arterial.linearroad.simulate.model.accidents import cause_accidents, make_accidents, nearest_pair
from arterial.linearroad.simulate.settings import ACCIDENT_EVERY_SECONDS, DRIVING, FEET_A_SECOND, Settings
from tests.linearroad.simulate.model.roads import road_of

vehicles = st.lists(
    st.tuples(st.floats(0, 5000), st.floats(0, 100), st.integers(0, 4)), max_size=25, unique_by=lambda v: v[0]
)


def test_one_in_twenty_minutes_on_both_directions_together() -> None:
    both = [make_accidents(Settings(), 0, direction) for direction in (EAST, WEST)]
    due = np.sort(np.concatenate([accidents.due for accidents in both]))
    assert (due // ACCIDENT_EVERY_SECONDS).tolist() == list(range(9))
    lasts = np.concatenate([accidents.lasts for accidents in both])
    assert lasts.min() >= 120 + 600
    assert lasts.max() <= 90 + 1200


def test_a_half_expressway_has_them_all_in_its_direction() -> None:
    assert len(make_accidents(Settings(xways=0.5), 0, EAST).due) == 9


@pytest.mark.thorough
@given(vehicles, st.floats(0, 5000))
def test_nearest_pair(them: list[tuple[float, float, int]], wanted: float) -> None:
    road, count = road_of(them)
    best = (-1, -1)
    nearest = 1e9
    for lane in (1, 2, 3):
        here = [int(i) for i in count.order if road.lane[i] == lane]
        for leader, follower in pairwise(here):
            close = road.along[leader] - road.along[follower] < 300
            moving = min(road.speed[leader], road.speed[follower]) > 10 * FEET_A_SECOND
            if close and moving and abs(road.along[leader] - wanted) < nearest:
                nearest, best = abs(road.along[leader] - wanted), (leader, follower)
    found = nearest_pair(road, count, wanted)
    if best == (-1, -1):
        assert found == best
    else:
        assert abs(road.along[found[0]] - wanted) == nearest


def test_without_a_pair_it_waits() -> None:
    accidents = make_accidents(Settings(xways=0.5, seconds=1200), 0, EAST)
    road, count = road_of([(100.0, 50.0, 1)])
    limits = np.zeros(100)
    cause_accidents(accidents, road, count, 1199, limits, DRIVING)
    assert accidents.happened.tolist() == [-1]
    road, count = road_of([(100.0, 50.0, 1), (40.0, 50.0, 1)])
    cause_accidents(accidents, road, count, 1199, limits, DRIVING)
    assert accidents.happened.tolist() == [1199]
    assert road.stop_at[0] == road.stop_at[1] > 100
    assert limits[0] == DRIVING.accident_limit
