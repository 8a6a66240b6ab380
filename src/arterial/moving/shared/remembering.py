"""Execution with caches smaller than the conservative one: a query knows only what it has kept (§3.2, §3.3).

The paper's queries see a stream and keep of it what lies in their area and the cache around it. So does a query here:
it knows the objects that reported in this time unit, and of those it knew before the ones still in its cache area; its
answer is the right one among the objects it knows. How far off that is, is measured against the exact answers of the
shared execution below, which goes on knowing all: the uncertainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.queries.anticipation import (
    MOVING_NEAREST_STEPS,
    NEAREST_STEPS,
    RANGE_STEPS,
    circle_margin,
    rectangle_margin,
)
from arterial.moving.queries.events import Query
from arterial.moving.queries.ids import Id
from arterial.moving.queries.space import (
    EARTH_METRES,
    Space,
    inside_metres,
    metres_of_chord,
    unit_vector,
    wrap_longitude,
)
from arterial.moving.shared.grid import NONE, Objects
from arterial.moving.shared.query_index import FREE, MOVING_KNN, MOVING_RANGE, RANGE
from arterial.moving.shared.scan import scan_cap, scan_circle, scan_metres, scan_rectangle
from arterial.moving.shared.shared import Changes, SharedExecution

_NOTHING: Array = np.empty(0, np.int32)


@dataclass(frozen=True)
class Uncertainty:
    """Over all queries and time units so far: members of exact answers, those missed, and those wrongly given."""

    members: int = 0
    missing: int = 0
    extra: int = 0

    @property
    def accuracy(self) -> float:
        """The share of members that was given, less what was given wrongly.

        >>> Uncertainty(members=10, missing=1, extra=1).accuracy
        0.8
        """
        return 1.0 - (self.missing + self.extra) / self.members if self.members else 1.0


@dataclass(frozen=True)
class Memory:
    """What a query knows, as slots of objects, and its answer, which is some of it."""

    known: Array
    answer: Array


class RememberingExecution(SharedExecution):
    """Shared execution in which a query knows only what its cache has kept.

    `cache` is per cent of the conservative cache. `longest_step` is the longest way between two reports of an object,
    in units of the plane or metres; if it is not given it is measured as reports come.
    """

    def __init__(
        self,
        *,
        cache: float,
        longest_step: float | None = None,
        space: Space = Space.PLANE,
        timeout: float | None = None,
    ) -> None:
        super().__init__(space=space, timeout=timeout)
        self.cache_share = cache / 100.0
        self.longest_step = longest_step or 0.0
        self.uncertainty = Uncertainty()
        self.uncertainty_of_step = Uncertainty()
        self._measures_steps = longest_step is None
        self.memories: dict[int, Memory] = {}

    def register(self, name: Id, query: Query) -> None:
        super().register(name, query)
        row = self.query_table.slot(name)
        answer = self.memories[row].answer if row in self.memories else _NOTHING
        self.memories[row] = Memory(_NOTHING, answer)

    def step(
        self,
        t: float,
        slots: Array = _NOTHING,
        x: Array = _NOTHING,
        y: Array = _NOTHING,
        gone: Array = _NOTHING,
    ) -> Changes:
        lonlat = self.space is Space.LONLAT
        self.make_room()
        if self._measures_steps:
            self.longest_step = max(self.longest_step, _longest_step(self.objects, lonlat, slots, x, y))
        super().step(t, slots, x, y, gone)
        before = self.uncertainty
        rows = np.array(sorted(self.memories, key=lambda row: int(self.query_table.rank[row])), np.int32)
        query, sign, slot = [_NOTHING], [np.empty(0, np.int8)], [_NOTHING]
        for row in rows.tolist():
            old = self.memories[row].answer
            new = self._remember(t, row)
            gone, come = (self._ranked(np.setdiff1d(*pair)) for pair in ((old, new), (new, old)))
            query.append(np.full(len(gone) + len(come), row, np.int32))
            sign += [np.full(len(gone), -1, np.int8), np.full(len(come), 1, np.int8)]
            slot += [gone, come]
        now = self.uncertainty
        self.uncertainty_of_step = Uncertainty(
            now.members - before.members, now.missing - before.missing, now.extra - before.extra
        )
        return Changes(t, np.concatenate(query), np.concatenate(sign), np.concatenate(slot))

    def answers(self) -> dict[Id, set[Id]]:
        return {
            self.query_table.id_of(row): set(self.object_table.ids_of(memory.answer))
            for row, memory in self.memories.items()
        }

    def _remember(self, t: float, row: int) -> Array:
        """Renew what a query knows; returns its answer."""
        queries = self.queries
        if queries.kind[row] == FREE:
            del self.memories[row]
            return _NOTHING
        focal = int(queries.focal[row])
        if focal != NONE and not self.objects.live[focal]:
            memory = Memory(_NOTHING, _NOTHING)
        elif queries.kind[row] in (RANGE, MOVING_RANGE):
            memory = self._in_rectangle(t, row, focal)
        else:
            memory = self._nearest(t, row, focal)
        self.memories[row] = memory
        exact = self.pool[queries.start[row] : queries.start[row] + queries.held[row]]
        common = len(np.intersect1d(exact, memory.answer, assume_unique=True))
        so_far = self.uncertainty
        self.uncertainty = Uncertainty(
            so_far.members + len(exact),
            so_far.missing + len(exact) - common,
            so_far.extra + len(memory.answer) - common,
        )
        return memory.answer

    def _admitted(self, t: float, row: int, found: Array) -> Array:
        admitted: Array = found[(self.objects.last[found] == t) | np.isin(found, self.memories[row].known)]
        return admitted

    def _in_rectangle(self, t: float, row: int, focal: int) -> Memory:
        objects, shape = self.objects, self.queries.shape[row]
        found = np.empty(self.live_count + 1, np.int32)
        if self.queries.kind[row] == RANGE:  # stands still: needs no cache
            start, held = self.queries.start[row], self.queries.held[row]
            inside = self._admitted(t, row, self.pool[start : start + held])
            return Memory(inside, inside)
        length, width = float(shape[0]), float(shape[1])
        margin = rectangle_margin(length, width, RANGE_STEPS * self.longest_step, self.cache_share)
        x, y = float(objects.x[focal]), float(objects.y[focal])
        if self.space is Space.LONLAT:
            count = scan_metres(objects, self.grid, focal, x, y, length + 2 * margin, width + 2 * margin, found)
            known = self._admitted(t, row, found[:count])
            return Memory(known, known[_inside_metres(objects, known, x, y, length, width)])
        half_x, half_y = length / 2 + margin, width / 2 + margin
        count = scan_rectangle(self.grid, focal, x - half_x, y - half_y, x + half_x, y + half_y, found, 0)
        known = self._admitted(t, row, found[:count])
        at_x, at_y = objects.x[known], objects.y[known]
        inside = (at_x >= x - length / 2) & (at_x <= x + length / 2) & (at_y >= y - width / 2) & (at_y <= y + width / 2)
        return Memory(known, known[inside])

    def _nearest(self, t: float, row: int, focal: int) -> Memory:
        objects, k, moving = self.objects, int(self.queries.k[row]), self.queries.kind[row] == MOVING_KNN
        x, y = (float(value) for value in self.queries.shape[row, :2])
        if moving:
            x, y = float(objects.x[focal]), float(objects.y[focal])
        known = self.memories[row].known
        known = known[objects.live[known] == 1]
        distances = np.sort(self._distances(known, x, y))
        reach = self.longest_step * (MOVING_NEAREST_STEPS if moving else NEAREST_STEPS)
        bound = math.inf
        if len(known) >= k:
            bound = float(distances[k - 1]) + circle_margin(float(distances[k - 1]), reach, self.cache_share)
        known = self._admitted(t, row, self._within(x, y, focal, bound))
        distances = self._distances(known, x, y)
        order = np.lexsort((objects.rank[known], self._squared(known, x, y)))
        answer = known[order[:k]]
        if len(known) <= k:
            return Memory(known, answer)
        radius = float(distances[order[k - 1]])
        kept = distances <= radius + circle_margin(radius, reach, self.cache_share)
        kept[order[:k]] = True
        return Memory(known[kept], answer)

    def _within(self, x: float, y: float, focal: int, bound: float) -> Array:
        found, distance = np.empty(self.live_count + 1, np.int32), np.empty(self.live_count + 1)
        if bound == math.inf:
            count = scan_rectangle(self.grid, focal, -np.inf, -np.inf, np.inf, np.inf, found, 0)
        elif self.space is Space.LONLAT:
            x = wrap_longitude(x)
            chord = 2.0 * math.sin(min(bound / EARTH_METRES, math.pi) / 2.0)
            squared = chord * chord * (1 + 1e-12) + 1e-30
            u = unit_vector(x, y)
            count = scan_cap(self.objects, self.grid, focal, x, y, u, squared, found, distance)
        else:
            count = scan_circle(self.grid, focal, x, y, bound * bound * (1 + 1e-12), found, distance)
        return found[:count].copy()

    def _squared(self, slots: Array, x: float, y: float) -> Array:
        objects = self.objects
        if self.space is Space.PLANE:
            squared: Array = (objects.x[slots] - x) ** 2 + (objects.y[slots] - y) ** 2
            return squared
        ux, uy, uz = unit_vector(wrap_longitude(x), y)
        chord: Array = (objects.ux[slots] - ux) ** 2 + (objects.uy[slots] - uy) ** 2 + (objects.uz[slots] - uz) ** 2
        return chord

    def _distances(self, slots: Array, x: float, y: float) -> Array:
        squared = self._squared(slots, x, y)
        if self.space is Space.PLANE:
            return np.sqrt(squared)
        return 2.0 * EARTH_METRES * np.arcsin(np.minimum(np.sqrt(squared) / 2.0, 1.0))

    def _ranked(self, slots: Array) -> Array:
        return slots[np.argsort(self.objects.rank[slots])].astype(np.int32)


def make_engine(
    *,
    space: Space = Space.PLANE,
    timeout: float | None = None,
    cache: float = 100.0,
    longest_step: float | None = None,
) -> SharedExecution:
    """The engine for a size of cache: exact with all of the conservative one."""
    if cache >= 100.0:
        return SharedExecution(space=space, timeout=timeout)
    return RememberingExecution(cache=cache, longest_step=longest_step, space=space, timeout=timeout)


@njit(cache=True)
def _longest_step(objects: Objects, lonlat: bool, slots: Array, xs: Array, ys: Array) -> float:
    """The longest way from the last position of an object to the one it reports."""
    longest = 0.0
    for i in range(len(slots)):
        slot = slots[i]
        if objects.live[slot]:
            if lonlat:
                ux, uy, uz = unit_vector(wrap_longitude(xs[i]), ys[i])
                dx, dy, dz = objects.ux[slot] - ux, objects.uy[slot] - uy, objects.uz[slot] - uz
                way = metres_of_chord(dx * dx + dy * dy + dz * dz)
            else:
                way = math.hypot(xs[i] - objects.x[slot], ys[i] - objects.y[slot])
            longest = max(longest, way)
    return longest


@njit(cache=True)
def _inside_metres(objects: Objects, slots: Array, x: float, y: float, length: float, width: float) -> Array:
    inside = np.empty(len(slots), np.bool_)
    for i in range(len(slots)):
        slot = slots[i]
        inside[i] = inside_metres(x, y, objects.ux[slot], objects.uy[slot], objects.uz[slot], length, width)
    return inside
