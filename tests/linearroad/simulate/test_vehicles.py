"""Vehicles for trips: never on two roads at once, always with the time to get from one to the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.simulate.settings import RETURN_SHARE
from arterial.linearroad.simulate.vehicles import NO_VEHICLE, Journeys, assign_vehicles, could_return

trips = st.lists(
    st.tuples(
        st.integers(-1, 20_000), st.integers(30, 4000), st.booleans(), st.integers(0, 2), st.integers(0, 99),
        st.integers(0, 99),
    ),
    max_size=300,
)  # fmt: skip


def journeys_of(them: list[tuple[int, int, bool, int, int, int]]) -> Journeys:
    began = np.array([trip[0] for trip in them], np.int32)
    ended = np.array([trip[0] + trip[1] if trip[2] and trip[0] >= 0 else -1 for trip in them], np.int32)
    return Journeys(
        began,
        ended,
        np.array([trip[3] for trip in them], np.int32),
        np.array([trip[4] for trip in them], np.int16),
        np.array([trip[5] for trip in them], np.int16),
    )


@pytest.mark.thorough
@given(trips, st.integers(0, 2**62))
def test_a_vehicle_is_on_one_road_at_a_time(them: list[tuple[int, int, bool, int, int, int]], seed: int) -> None:
    journeys = journeys_of(them)
    check(journeys, assign_vehicles(journeys, seed))


def check(journeys: Journeys, vehicle: np.ndarray) -> None:
    last: dict[int, int] = {}
    for trip in sorted(range(len(vehicle)), key=lambda trip: journeys.began[trip]):
        if journeys.began[trip] < 0:
            assert vehicle[trip] == NO_VEHICLE
            continue
        if vehicle[trip] in last:
            before = last[vehicle[trip]]
            miles = abs(int(journeys.left_at[before]) - int(journeys.entrance[trip]))
            miles += 10 * abs(int(journeys.xway[before]) - int(journeys.xway[trip]))
            assert journeys.ended[before] >= 0
            assert journeys.began[trip] - journeys.ended[before] >= 300 + 120 * miles
            assert could_return(journeys, before, trip)
        last[vehicle[trip]] = trip
    assert sorted(last) == list(range(len(last)))


def test_some_come_back_also_on_another_expressway() -> None:
    chance = np.random.default_rng(5)
    count = 20_000
    began = np.sort(chance.integers(0, 10_800, count)).astype(np.int32)
    journeys = Journeys(
        began,
        (began + chance.integers(300, 2000, count)).astype(np.int32),
        chance.integers(0, 2, count).astype(np.int32),
        chance.integers(0, 100, count).astype(np.int16),
        chance.integers(0, 100, count).astype(np.int16),
    )
    vehicle = assign_vehicles(journeys, 1)
    check(journeys, vehicle)
    back = count - len(np.unique(vehicle))
    assert 0.6 * RETURN_SHARE < back / count < RETURN_SHARE * 1.1
    roads = {(int(one), int(xway)) for one, xway in zip(vehicle, journeys.xway, strict=True)}
    assert len(roads) > len(np.unique(vehicle)) + 50
    np.testing.assert_array_equal(vehicle, assign_vehicles(journeys, 1))
