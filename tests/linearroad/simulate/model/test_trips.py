"""The demand: its rate, its places, its directions."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.semantics.city import EAST, SEGMENTS, WEST
from arterial.linearroad.simulate.model.trips import make_trips
from arterial.linearroad.simulate.settings import ENTRIES_A_SECOND, Settings


def test_entries_are_nearly_constant() -> None:
    a_second = np.bincount(make_trips(Settings(seconds=2000), 0).due)
    assert len(a_second) == 2000
    assert abs(a_second - ENTRIES_A_SECOND).max() < 2


def test_density_scales_the_demand() -> None:
    assert len(make_trips(Settings(seconds=1000, density=0.5), 0)) == ENTRIES_A_SECOND * 500


def test_entrances_are_uniform_and_exits_normal() -> None:
    trips = make_trips(Settings(seconds=10_800), 0)
    entrances = np.bincount(trips.entrance, minlength=SEGMENTS)
    expected = len(trips) / SEGMENTS
    assert abs(entrances - expected).max() < 5 * np.sqrt(expected)
    # A normal distribution cut off at 2.5 standard deviations is a little narrower.
    assert abs(trips.exit.mean() + 0.5 - 50) < 0.5
    assert 18.5 < trips.exit.std() < 20
    assert trips.exit.min() >= 0
    assert trips.exit.max() < SEGMENTS


def test_direction_follows_from_entrance_and_exit() -> None:
    trips = make_trips(Settings(seconds=500), 0)
    for entrance, leave, direction in zip(trips.entrance, trips.exit, trips.direction, strict=True):
        assert direction == (EAST if leave > entrance else WEST)
        assert leave != entrance


def test_a_longer_run_begins_with_the_same_trips() -> None:
    short, long = make_trips(Settings(seconds=300), 0), make_trips(Settings(seconds=900), 0)
    for name in ("due", "entrance", "exit", "direction", "desired"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name)[: len(short)])


def test_a_half_expressway_has_one_direction() -> None:
    whole, half = make_trips(Settings(seconds=300), 0), make_trips(Settings(seconds=300, xways=0.5), 0)
    assert set(half.direction) == {EAST}
    assert len(half) == (whole.direction == EAST).sum()


def test_expressways_and_seeds_differ() -> None:
    first = make_trips(Settings(seconds=300), 0)
    assert (first.entrance != make_trips(Settings(seconds=300, xways=2.0), 1).entrance).any()
    assert (first.entrance != make_trips(Settings(seconds=300, seed=2), 0).entrance).any()
