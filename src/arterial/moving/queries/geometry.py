"""Distances and rectangles in plain Python: the meaning that the kernels are held against."""

from __future__ import annotations

import math

from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.space import EARTH_METRES, Space

Point = tuple[float, float]


def squared(space: Space, a: Point, b: Point) -> float:
    """The squared distance of two points: of the plane, or of the chord between them through the sphere."""
    if space is Space.PLANE:
        return (b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])
    first, second = _vector(a), _vector(b)
    return sum((q - p) * (q - p) for p, q in zip(first, second, strict=True))


def distance(space: Space, a: Point, b: Point) -> float:
    """The distance of two points: in the units of the plane, or in metres along the great circle."""
    if space is Space.PLANE:
        return math.sqrt(squared(space, a, b))
    return EARTH_METRES * 2.0 * math.asin(min(1.0, math.sqrt(squared(space, a, b)) / 2.0))


def in_range(space: Space, query: Range, at: Point) -> bool:
    """Is a point in a stationary rectangle?"""
    x, y = at
    if not min(query.y1, query.y2) <= y <= max(query.y1, query.y2):
        return False
    if space is Space.PLANE:
        return min(query.x1, query.x2) <= x <= max(query.x1, query.x2)
    if query.x2 - query.x1 >= 360.0:
        return True
    west, east, x = _wrapped(query.x1), _wrapped(query.x2), _wrapped(x)
    return west <= x <= east if west <= east else x >= west or x <= east


def in_moving_range(space: Space, query: MovingRange, centre: Point, at: Point) -> bool:
    """Is a point in the rectangle about this centre?"""
    if space is Space.PLANE:
        return (
            centre[0] - query.xdist / 2 <= at[0] <= centre[0] + query.xdist / 2
            and centre[1] - query.ydist / 2 <= at[1] <= centre[1] + query.ydist / 2
        )
    east, north = metres_from(centre, at)
    return abs(east) <= query.xdist / 2 and abs(north) <= query.ydist / 2


def metres_from(centre: Point, at: Point) -> tuple[float, float]:
    """Metres east and north of the centre: the great-circle distance, in the direction in which one sets out."""
    longitude, latitude = math.radians(centre[0]), math.radians(centre[1])
    x, y, z = _vector(at)
    # Turn the sphere about its axis until the centre is on the zero meridian, then tip it onto the equator.
    x, y = x * math.cos(longitude) + y * math.sin(longitude), y * math.cos(longitude) - x * math.sin(longitude)
    x, z = x * math.cos(latitude) + z * math.sin(latitude), z * math.cos(latitude) - x * math.sin(latitude)
    sine = math.hypot(y, z)
    if sine == 0.0:
        return (0.0, 0.0) if x > 0 else (math.pi * EARTH_METRES, math.pi * EARTH_METRES)
    metres = EARTH_METRES * math.atan2(sine, x)
    return metres * y / sine, metres * z / sine


def _wrapped(longitude: float) -> float:
    while longitude > 180.0:
        longitude -= 360.0
    while longitude <= -180.0:
        longitude += 360.0
    return longitude


def _vector(at: Point) -> tuple[float, float, float]:
    if abs(at[1]) >= 90.0:
        return 0.0, 0.0, math.copysign(1.0, at[1])
    longitude, latitude = math.radians(_wrapped(at[0])), math.radians(at[1])
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )
