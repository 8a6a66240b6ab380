"""Geometry on the sphere: kernels against the plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.geometry import distance, in_moving_range, in_range, metres_from
from arterial.moving.queries.space import (
    EARTH_METRES,
    Space,
    degrees_around,
    inside_metres,
    metres_of_chord,
    unit_vector,
    wrap_longitude,
)

chance = np.random.default_rng(3)
PLACES = [
    (0.0, 0.0),
    (179.9, 10.0),
    (-179.9, -10.0),
    (12.0, 89.9),
    (-170.0, 90.0),
    (5.0, -89.99),
    *((float(x), float(y)) for x, y in zip(chance.uniform(-180, 180, 50), chance.uniform(-90, 90, 50), strict=True)),
]


def haversine(a: tuple[float, float], b: tuple[float, float]) -> float:
    (x1, y1), (x2, y2) = [tuple(map(math.radians, place)) for place in (a, b)]
    half = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_METRES * math.asin(math.sqrt(min(1.0, half)))


@pytest.mark.parametrize("a", PLACES)
def test_a_chord_spans_the_haversine_distance(a: tuple[float, float]) -> None:
    for b in PLACES:
        chord = sum((p - q) ** 2 for p, q in zip(unit_vector(*a), unit_vector(*b), strict=True))
        assert metres_of_chord(chord) == pytest.approx(haversine(a, b), rel=1e-6, abs=1e-2)
        assert distance(Space.LONLAT, a, b) == pytest.approx(haversine(a, b), rel=1e-6, abs=1e-2)
        assert math.hypot(*metres_from(a, b)) == pytest.approx(haversine(a, b), rel=1e-6, abs=1e-2)


@pytest.mark.parametrize("a", PLACES)
def test_a_rectangle_in_metres_is_the_same_for_kernel_and_definition(a: tuple[float, float]) -> None:
    for b in PLACES:
        for length, width in ((1e5, 2e5), (3e6, 1e6), (9e7, 9e7)):
            expected = in_moving_range(Space.LONLAT, MovingRange("m", length, width), a, b)
            assert inside_metres(*a, *unit_vector(*b), length, width) == expected


@pytest.mark.parametrize("a", PLACES)
def test_the_box_around_a_cap_holds_the_cap(a: tuple[float, float]) -> None:
    for b in PLACES:
        angle = haversine(a, b) / EARTH_METRES
        half, low, high = degrees_around(a[1], angle)
        assert low <= b[1] <= high
        assert abs(wrap_longitude(b[0] - a[0])) <= half


def test_a_range_may_cross_the_180th_meridian() -> None:
    fiji = Range(177.0, -20.0, -178.0, -12.0)
    inside = [(177.0, -15.0), (180.0, -15.0), (-180.0, -15.0), (-178.0, -12.0), (179.5, -20.0)]
    outside = [(0.0, -15.0), (176.9, -15.0), (-177.9, -15.0), (180.0, -11.0)]
    assert all(in_range(Space.LONLAT, fiji, at) for at in inside)
    assert not any(in_range(Space.LONLAT, fiji, at) for at in outside)
    assert in_range(Space.LONLAT, Range(-180.0, -90.0, 180.0, 90.0), (13.0, 4.0))
    assert in_range(Space.LONLAT, Range(-180.0, 0.0, -170.0, 9.0), (180.0, 4.0))
