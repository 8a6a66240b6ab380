"""The answers by definition: every query tested against every live object, in plain Python.

All else is held against this.
"""

from __future__ import annotations

from collections.abc import Iterable

from arterial.moving.queries.events import (
    Drop,
    Event,
    MovingNearest,
    MovingRange,
    Nearest,
    Query,
    Range,
    Register,
    Report,
)
from arterial.moving.queries.geometry import Point, in_moving_range, in_range, squared
from arterial.moving.queries.ids import Id, id_order
from arterial.moving.queries.space import Space


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
