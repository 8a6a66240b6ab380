"""Small worlds for tests: events of every kind, with all that is awkward about them, in time units."""

from __future__ import annotations

import random

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
from arterial.moving.queries.ids import Id
from arterial.moving.queries.space import Space

World = list[tuple[float, list[Event]]]


def random_world(
    seed: int, *, space: Space = Space.PLANE, units: int = 30, objects: int = 25, coarse: bool = True
) -> World:
    """Objects that come, jump, rest, fall silent and return; queries of every kind that come, change and go."""
    chance = random.Random(seed)
    ids: list[Id] = [n if n % 3 else f"o{n}" for n in range(-objects // 4, objects - objects // 4)]
    names: list[Id] = [*range(8), "a", "b", "c"]
    at: dict[Id, tuple[float, float]] = {}
    focus = chance.choice([(0.0, 0.0), (179.0, 10.0), (-179.5, 89.0), (20.0, -89.5)])

    def spot() -> tuple[float, float]:
        if space is Space.LONLAT:
            reach = chance.choice([0.5, 3.0, 40.0])
            x = focus[0] + chance.uniform(-reach, reach) * chance.choice([1, 1, 50])
            y = min(90.0, max(-90.0, focus[1] + chance.uniform(-reach, reach)))
            x = (x + 180.0) % 360.0 - 180.0
            return (round(x), round(y)) if coarse else (x, y)
        reach = chance.choice([3, 10, 10, 1000])
        x, y = chance.uniform(-reach, reach), chance.uniform(-reach, reach)
        return (float(round(x)), float(round(y))) if coarse else (x, y)

    def move(identity: Id) -> tuple[float, float]:
        if identity not in at or chance.random() < 0.1:
            return spot()
        x, y = at[identity]
        if space is Space.LONLAT:
            x = (x + chance.uniform(-1, 1) + 180.0) % 360.0 - 180.0
            return x, min(90.0, max(-90.0, y + chance.uniform(-1, 1)))
        step = chance.choice([0.0, 1.0, 2.0])
        return x + step * chance.choice([-1, 0, 1]), y + step * chance.choice([-1, 0, 1])

    def query() -> Query:
        size = 300_000.0 if space is Space.LONLAT else 6.0
        # A point on the very side of a rectangle is inside up to rounding on the sphere, so none is of width 0 there.
        widths = [0.7, 1.1, 50.0] if space is Space.LONLAT else [0.0, 1.0, 2.0, 100.0]
        kind = chance.randrange(4)
        if kind == 0:
            return Range(*spot(), *spot())
        if kind == 1:
            return MovingRange(chance.choice(ids), chance.uniform(0, 2) * size, chance.choice(widths) * size)
        if kind == 2:
            return Nearest(chance.choice([1, 2, 5, 100]), *spot())
        return MovingNearest(chance.choice([1, 2, 3, 5, 100]), chance.choice(ids))

    t = 0.0
    world: World = []
    for _ in range(units):
        t += chance.choice([1, 1, 1, 2, 7])
        events: list[Event] = []
        for _ in range(chance.choice([0, 0, 1, 3])):
            events.append(Register(t, chance.choice(names), query()))
        if chance.random() < 0.3:
            events.append(Drop(t, chance.choice(names)))
        for identity in chance.sample(ids, chance.choice([0, 1, 3, len(ids) // 2, len(ids)])):
            at[identity] = move(identity)
            events.append(Report(t, identity, *at[identity]))
            if chance.random() < 0.05:
                at[identity] = move(identity)
                events.append(Report(t, identity, *at[identity]))
        chance.shuffle(events)
        for event in events:  # after the shuffle the last report of an object is where it is
            if isinstance(event, Report):
                at[event.object] = (event.x, event.y)
        world.append((t, events))
    return world
