"""Objects on the roads: they appear at a place, travel to another along the best route, leave or travel on.

What an object does depends on the seed and its own number only, not on how many others there are; but a road that is
full slows all that are on it, as in Brinkhoff's generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.traffic.city import SPEEDS, City, make_city
from arterial.network.keys.hash_kernels import mix
from arterial.network.keys.hashing import GOLDEN

ROOM_METRES = 8.0
"""A road is full when there is an object for so many of its metres."""
FULL_SPEED = 0.5
"""What is left of the speed on a full road."""
ON_FOOT = 4.0
"""Objects no faster than so many metres a second take the shortest way and no motorway."""


@dataclass(frozen=True)
class VehicleClass:
    """A kind of object: its share of all, and its greatest speed in metres per second."""

    name: str
    share: float
    speed: float


CLASSES = (
    VehicleClass("car", 0.70, 36.0),
    VehicleClass("truck", 0.05, 22.0),
    VehicleClass("bus", 0.05, 14.0),
    VehicleClass("bicycle", 0.12, 5.0),
    VehicleClass("pedestrian", 0.08, 1.5),
)


@dataclass(frozen=True)
class TrafficSettings:
    """What traffic to make. `new` objects appear every time unit (a second); of those that arrive, `leaving` leave.

    With `every` above 1 an object reports in one of so many time units, its number says which.
    """

    objects: int
    seed: int = 1
    new: int = 0
    leaving: float = 1.0
    every: int = 1
    kilometres: float = 12.0
    classes: tuple[VehicleClass, ...] = CLASSES


@dataclass(frozen=True)
class Positions:
    """Who reports in a time unit, where, and of which class, as columns in the order of ids."""

    t: int
    id: Array
    x: Array
    y: Array
    kind: Array


class Traffic:
    """Moves all objects a time unit at a time.

    >>> traffic = Traffic(TrafficSettings(objects=10, kilometres=2))
    >>> len(traffic.step().id), traffic.step().t
    (10, 1)
    """

    def __init__(self, settings: TrafficSettings) -> None:
        self.settings = settings
        self.city: City = make_city(settings.seed, kilometres=settings.kilometres)
        self._now = 0
        self._next_id = 0
        self._columns = _Objects.none()
        self._on_road = np.zeros(len(self.city.roads.to), np.int32)
        self._appear(settings.objects, anywhere=True)

    def step(self) -> Positions:
        """Where all that report in the next time unit are; the first one is 0, before anyone has moved."""
        settings, city = self.settings, self.city
        if self._now:
            self._move()
            self._appear(settings.new, anywhere=False)
        objects = self._columns
        tail_x, tail_y = city.x[objects.tail], city.y[objects.tail]
        head = np.where(objects.road >= 0, city.roads.to[objects.road], objects.tail)
        share = np.where(objects.road >= 0, objects.done / city.roads.metres[objects.road], 0.0)
        x = tail_x + share * (city.x[head] - tail_x)
        y = tail_y + share * (city.y[head] - tail_y)
        report = objects.id % settings.every == self._now % settings.every
        self._now += 1
        return Positions(self._now - 1, objects.id[report], x[report], y[report], objects.kind[report])

    def _move(self) -> None:
        objects, roads = self._columns, self.city.roads
        arrived = np.zeros(len(objects.id), np.bool_)
        _advance(
            roads.first,
            roads.to,
            roads.metres,
            SPEEDS[roads.kind],
            self.city.by_time,
            self.city.by_way,
            self._on_road,
            objects.slow,
            objects.speed,
            objects.place,
            objects.tail,
            objects.road,
            objects.done,
            arrived,
        )
        leaves = arrived & (_chances(self.settings.seed, objects.id, objects.trips + 1, 7) < self.settings.leaving)
        goes_on = arrived & ~leaves
        objects.trips[goes_on] += 1
        objects.place[goes_on] = self._places(objects.id[goes_on], objects.trips[goes_on])
        self._columns = objects.where(~leaves)
        on_road = self._columns.road[self._columns.road >= 0]
        self._on_road = np.bincount(on_road, minlength=len(roads.to)).astype(np.int32)

    def _appear(self, count: int, *, anywhere: bool) -> None:
        if not count:
            return
        seed, city, classes = self.settings.seed, self.city, self.settings.classes
        ids = np.arange(self._next_id, self._next_id + count)
        self._next_id += count
        shares = np.cumsum([one.share for one in classes]) / sum(one.share for one in classes)
        kind = np.minimum(np.searchsorted(shares, _chances(seed, ids, 0, 1), "right"), len(classes) - 1)
        top = np.array([one.speed for one in classes])[kind]
        begin = city.places[(_chances(seed, ids, 0, 2) * len(city.places)).astype(np.int64)]
        if anywhere:  # at the start of time journeys are under way all over the city
            begin = (_chances(seed, ids, 0, 3) * len(city.x)).astype(np.int64)
        new = _Objects(
            id=ids,
            kind=kind.astype(np.int8),
            slow=top <= ON_FOOT,
            speed=top * (0.75 + 0.25 * _chances(seed, ids, 0, 4)),
            place=self._places(ids, np.zeros(count, np.int64)),
            tail=begin.astype(np.int32),
            road=np.full(count, -1, np.int32),
            done=np.zeros(count),
            trips=np.zeros(count, np.int64),
        )
        self._columns = self._columns.and_more(new)

    def _places(self, ids: Array, trips: Array) -> Array:
        chance = _chances(self.settings.seed, ids, trips, 5)
        return (chance * len(self.city.places)).astype(np.int32)


@dataclass(frozen=True)
class _Objects:
    """Columns of the objects under way: the junction they left, the road they are on (-1: at the junction), how far."""

    id: Array
    kind: Array
    slow: Array
    speed: Array
    place: Array
    tail: Array
    road: Array
    done: Array
    trips: Array

    @staticmethod
    def none() -> _Objects:
        types = (np.int64, np.int8, np.bool_, np.float64, np.int32, np.int32, np.int32, np.float64, np.int64)
        return _Objects(*(np.empty(0, kind) for kind in types))

    def where(self, wanted: Array) -> _Objects:
        return self if wanted.all() else _Objects(*(column[wanted] for column in vars(self).values()))

    def and_more(self, more: _Objects) -> _Objects:
        pairs = zip(vars(self).values(), vars(more).values(), strict=True)
        return _Objects(*(np.concatenate(pair) for pair in pairs))


@njit(cache=True)
def _advance(
    first: Array,
    to: Array,
    metres: Array,
    limits: Array,
    by_time: Array,
    by_way: Array,
    on_road: Array,
    slow: Array,
    speeds: Array,
    places: Array,
    tails: Array,
    roads: Array,
    done: Array,
    arrived: Array,
) -> None:
    """Move every object for a second, over as many junctions as it passes."""
    for i in range(len(speeds)):
        seconds = 1.0
        while seconds > 0.0:
            road = roads[i]
            if road < 0:
                road = by_way[places[i], tails[i]] if slow[i] else by_time[places[i], tails[i]]
                if road < 0:
                    arrived[i] = True
                    break
                roads[i] = road
                done[i] = 0.0
            speed = min(limits[road], speeds[i])
            if on_road[road] * ROOM_METRES > metres[road]:
                speed *= FULL_SPEED
            left = metres[road] - done[i]
            if speed * seconds < left:
                done[i] += speed * seconds
                break
            seconds -= left / speed
            tails[i] = to[road]
            roads[i] = -1
            done[i] = 0.0


def _chances(seed: int, ids: Array, trips: Array | int, purpose: int) -> Array:
    """A number in [0, 1) for each object, trip and purpose."""
    mixed = mix(ids.astype(np.uint64) + np.uint64((seed * GOLDEN + purpose) % 2**64))
    mixed = mix(mixed + np.asarray(trips, np.uint64) * np.uint64(0xD1B54A32D192ED03))
    chances: Array = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return chances
