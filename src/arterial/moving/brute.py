"""The answers by definition: every query tested against every live object, in plain Python. What all else is held against."""

from __future__ import annotations

import math
from collections.abc import Iterable

from arterial.moving.events import Drop, Event, MovingNearest, MovingRange, Nearest, Query, Range, Register, Report
from arterial.moving.ids import Id, id_order
from arterial.moving.space import EARTH_METRES, Space

Point = tuple[float, float]


class BruteForce:
    """Keeps the last position of every object and answers from scratch at the end of a time unit."""

    def __init__(self, *, space: Space = Space.PLANE, timeout: float | None = None) -> None:
        self.space, self.timeout = space, timeout
        self.position: dict[Id, Point] = {}
        self.last: dict[Id, float] = {}
        self.queries: dict[Id, Query] = {}

    def take(self, t: float, events: Iterable[Event]) -> None:
        """Take in all events of one time unit, which ends with this."""
        for event in events:
            match event:
                case Report():
                    self.position[event.object] = (event.x, event.y)
                    self.last[event.object] = event.t
                case Register():
                    self.queries[event.name] = event.query
                case Drop():
                    self.queries.pop(event.name, None)
        if self.timeout is not None:
            for identity in [identity for identity, last in self.last.items() if t - last >= self.timeout]:
                del self.position[identity], self.last[identity]

    def answers(self) -> dict[Id, set[Id]]:
        """The answer of every query, now."""
        return {name: self._answer(query) for name, query in self.queries.items()}

    def _answer(self, query: Query) -> set[Id]:
        match query:
            case Range():
                return {identity for identity, at in self.position.items() if in_range(self.space, query, at)}
            case MovingRange():
                centre = self.position.get(query.focal)
                if centre is None:
                    return set()
                return {
                    identity
                    for identity, at in self.position.items()
                    if identity != query.focal and in_moving_range(self.space, query, centre, at)
                }
            case Nearest():
                return self._nearest(query.k, (query.x, query.y), None)
            case MovingNearest():
                centre = self.position.get(query.focal)
                return set() if centre is None else self._nearest(query.k, centre, query.focal)

    def _nearest(self, k: int, centre: Point, focal: Id | None) -> set[Id]:
        others = [identity for identity in self.position if identity != focal]
        others.sort(key=lambda identity: (squared(self.space, centre, self.position[identity]), id_order(identity)))
        return set(others[:k])


def squared(space: Space, a: Point, b: Point) -> float:
    """The squared distance of two points: of the plane, or of the chord between them through the sphere."""
    if space is Space.PLANE:
        return (b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])
    first, second = _vector(a), _vector(b)
    return sum((q - p) * (q - p) for p, q in zip(first, second, strict=True))


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
