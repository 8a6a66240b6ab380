"""Fences: shapes that objects enter and leave, as text, as values, and what it means to be inside, in plain Python.

The text is that of WKT where WKT has a word for it: `polygon((0 0, 5 0, 5 5))`, `multipolygon(((…)), ((…)))`. Beside
these there are `circle(x y, radius)` and `rectangle(x1 y1, x2 y2)`; `circle(object 7, radius)` and
`rectangle(object 7, length width)` move with an object.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from arterial.errors import NetworkError
from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.geometry import Point, in_moving_range, in_range, squared
from arterial.moving.queries.space import EARTH_METRES, Space

FORMS = (
    "circle(x y, radius), rectangle(x1 y1, x2 y2), polygon((x y, x y, x y, …)), multipolygon(((…)), …), "
    "circle(object ID, radius) or rectangle(object ID, length width)"
)


@dataclass(frozen=True)
class Circle:
    """All places at most so far from a point; on longitude and latitude the radius is in metres."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Polygon:
    """All places inside an odd number of rings, and those on the rings; edges are straight in x and y.

    On longitude and latitude too (as in GeoJSON). Longitudes may go on beyond 180, across the meridian.
    """

    rings: tuple[tuple[Point, ...], ...]

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """The lowest x and y, the highest x and y."""
        xs, ys = zip(*(point for ring in self.rings for point in ring), strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def edges(self) -> Iterator[tuple[Point, Point]]:
        """The sides of all rings."""
        for ring in self.rings:
            yield from zip(ring, (*ring[1:], ring[0]), strict=True)


@dataclass(frozen=True)
class MovingCircle:
    """All places at most so far from the focal object."""

    focal: int | str
    radius: float


Fixed = Circle | Range | Polygon
Moving = MovingCircle | MovingRange
Shape = Fixed | Moving


def parse_shape(text: str, *, texts: bool = False, lonlat: bool = False) -> Shape:
    """The shape that a text says; `texts` means that the ids of objects are texts, not integers.

    >>> parse_shape("circle(3 4, 10)")
    Circle(x=3.0, y=4.0, radius=10.0)
    >>> parse_shape("rectangle(object 7, 200 100)")
    MovingRange(focal=7, xdist=200.0, ydist=100.0)
    """
    try:
        shape = _parse(text, texts)
        if lonlat:
            _check_degrees(shape)
    except _WrongError as wrong:
        raise NetworkError(f"the shape {_short(text)!r} {wrong}; expected {FORMS}") from None
    return shape


def contains(space: Space, shape: Shape, at: Point, centre: Point | None = None) -> bool:
    """Is a place inside? The border belongs to the fence. `centre` is where the focal object of a moving one is."""
    if isinstance(shape, MovingRange | MovingCircle):
        if centre is None:
            return False
        if isinstance(shape, MovingRange):
            return in_moving_range(space, shape, centre, at)
        return squared(space, centre, at) <= reach_squared(space, shape.radius)
    if isinstance(shape, Circle):
        return squared(space, (shape.x, shape.y), at) <= reach_squared(space, shape.radius)
    if isinstance(shape, Range):
        return in_range(space, shape, at)
    return _in_polygon(space, shape, at)


def reach_squared(space: Space, radius: float) -> float:
    """What the squared distance (of the plane, or of the chord) is compared with."""
    if space is Space.PLANE:
        return radius * radius
    half = math.sin(min(radius / EARTH_METRES / 2.0, math.pi / 2.0))
    return 4.0 * half * half


def _in_polygon(space: Space, shape: Polygon, at: Point) -> bool:
    x, y = at
    west, south, east, north = shape.bounds
    if space is Space.LONLAT:
        while x < west:
            x += 360.0
        while x - 360.0 >= west:
            x -= 360.0
    if not (west <= x <= east and south <= y <= north):
        return False
    inside = False
    for (ax, ay), (bx, by) in shape.edges:
        turn = (bx - ax) * (y - ay) - (by - ay) * (x - ax)  # above 0: the point is to the left of the edge
        if turn == 0.0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return True
        if (ay > y) != (by > y) and (turn > 0.0) == (by > ay):
            inside = not inside
    return inside


class _WrongError(Exception):
    """What is wrong with the text of a shape."""


_HEAD = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_FOCAL = re.compile(r"\s*object\s+('(?:[^']|'')*'|[^\s,']+)\s*", re.IGNORECASE)


def _parse(text: object, texts: bool) -> Shape:
    found = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise _WrongError("is not one")
    word, inner = found[1].lower(), found[2]
    if word == "polygon":
        return Polygon(_rings(inner))
    if word == "multipolygon":
        return Polygon(tuple(ring for one in _bracketed(inner) for ring in _rings(one)))
    if word not in ("circle", "rectangle"):
        raise _WrongError(f"begins with {found[1]!r}")
    first, comma, second = inner.rpartition(",")
    focal = _FOCAL.fullmatch(first)
    if not comma:
        raise _WrongError("has no comma")
    if word == "circle":
        (radius,) = _numbers(second, 1)
        if radius < 0:
            raise _WrongError(f"has the radius {radius:g}")
        if focal:
            return MovingCircle(_identity(focal[1], texts), radius)
        x, y = _numbers(first, 2)
        return Circle(x, y, radius)
    sides = _numbers(second, 2)
    if focal is None:
        return Range(*_numbers(first, 2), *sides)
    if min(sides) < 0:
        raise _WrongError(f"has the side {min(sides):g}")
    return MovingRange(_identity(focal[1], texts), *sides)


def _identity(text: str, texts: bool) -> int | str:
    if text.startswith("'"):
        text = text[1:-1].replace("''", "'")
    if texts:
        return text
    try:
        return int(text)
    except ValueError:
        raise _WrongError(f"moves with {text!r}, but the ids of objects are integers") from None


def _numbers(text: str, count: int) -> list[float]:
    words = text.split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise _WrongError(f"has {text.strip()!r} where {count} number{'s are' if count > 1 else ' is'} expected")
    return numbers


def _rings(text: str) -> tuple[tuple[Point, ...], ...]:
    rings = []
    for inner in _bracketed(text):
        points = [(x, y) for x, y in (_numbers(pair, 2) for pair in inner.split(","))]
        if points[0] == points[-1]:
            points.pop()
        if len(set(points)) < 3:
            raise _WrongError("has a ring of fewer than three points")
        rings.append(tuple(points))
    return tuple(rings)


def _bracketed(text: str) -> list[str]:
    """What stands in each of the brackets of a list of them."""
    parts, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        if sign == "(":
            begin, depth = (at + 1 if depth == 0 else begin), depth + 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                parts.append(text[begin:at])
        elif depth == 0 and not (sign.isspace() or (sign == "," and parts)):
            break
        if depth < 0:
            break
    else:
        if parts and depth == 0 and not text.rstrip().endswith(","):
            return parts
    raise _WrongError("has brackets or commas that do not fit")


def _check_degrees(shape: Shape) -> None:
    points: tuple[Point, ...] = ()
    if isinstance(shape, Circle):
        points = ((shape.x, shape.y),)
    elif isinstance(shape, Range):
        points = ((shape.x1, shape.y1), (shape.x2, shape.y2))
    elif isinstance(shape, Polygon):
        points = tuple(point for ring in shape.rings for point in ring)
        if shape.bounds[2] - shape.bounds[0] > 360.0:
            raise _WrongError("is wider than 360 degrees")
    for x, y in points:
        if not (-180.0 <= x <= 360.0 and -90.0 <= y <= 90.0):
            raise _WrongError(f"has the place {x:g} {y:g}, which is no longitude and latitude")


def _short(text: object) -> str:
    said = str(text)
    return said if len(said) <= 80 else said[:79] + "…"
