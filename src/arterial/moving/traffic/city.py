"""A city's road network from a seed: side roads, streets, arterials, two diagonal avenues and a motorway ring.

Junctions lie on a grid that is bent a little; every eighth line is an arterial, every other of the rest a street. Some
side roads are left out, and what is then cut off from the rest of the city.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from arterial.arrays import Array

SIDE, STREET, ARTERIAL, MOTORWAY = 0, 1, 2, 3
SPEEDS = np.array([30.0, 50.0, 70.0, 110.0]) / 3.6
"""Metres per second on each class of road."""
BLOCK_METRES = 150.0
LEFT_OUT = 0.15
"""The share of side roads that is left out."""
FIRST_RING = 3
"""The motorway ring runs so many lines from the outside."""


@dataclass(frozen=True)
class Roads:
    """Roads as columns, each in one direction, those that leave junction j from `first[j]` to `first[j + 1]`."""

    first: Array
    to: Array
    metres: Array
    kind: Array


@dataclass(frozen=True)
class City:
    """Junctions (metres east and north of the middle of the city) and the roads between them."""

    x: Array
    y: Array
    roads: Roads
    places: Array
    """Junctions where journeys begin and end."""
    by_time: Array
    """For each place and junction, the road to take from there to be at the place soonest; -1 at the place itself."""
    by_way: Array
    """The same by the shortest way that is not a motorway."""


def make_city(seed: int, *, kilometres: float = 12.0, places: int = 200) -> City:
    """A city of this size; the same for the same seed."""
    chance = np.random.default_rng([seed, 1])
    lines = max(int(kilometres * 1000 / BLOCK_METRES), 2 * FIRST_RING + 4) + 1
    at = (np.arange(lines) - (lines - 1) / 2) * BLOCK_METRES
    x, y = (grid.ravel() + chance.uniform(-0.2, 0.2, lines * lines) * BLOCK_METRES for grid in np.meshgrid(at, at))
    start, end, kind = _links(lines, chance)
    keep = _largest_part(len(x), start, end)
    number = np.cumsum(keep) - 1
    stays = keep[start] & keep[end]
    x, y, start, end, kind = x[keep], y[keep], number[start[stays]], number[end[stays]], kind[stays]
    roads = _roads(x, y, start, end, kind)
    chosen = np.sort(chance.choice(len(x), min(places, len(x)), replace=False))
    seconds = roads.metres / SPEEDS[roads.kind]
    ways = np.where(roads.kind == MOTORWAY, roads.metres * 1000.0, roads.metres)
    return City(x, y, roads, chosen, _routes(roads, seconds, chosen), _routes(roads, ways, chosen))


def _links(lines: int, chance: np.random.Generator) -> tuple[Array, Array, Array]:
    """Pairs of junctions and the class of the road between them, one direction of each."""
    column, row = (grid.ravel() for grid in np.meshgrid(np.arange(lines), np.arange(lines)))
    ring = (FIRST_RING, lines - 1 - FIRST_RING)
    parts = []
    for across, down in ((1, 0), (0, 1)):
        some = (column + across < lines) & (row + down < lines)
        line = np.where(across, row, column)[some]
        along = np.where(across, column, row)[some]
        kind = np.where(line % 8 == 4, ARTERIAL, np.where(line % 2 == 0, STREET, SIDE))
        on_ring = np.isin(line, ring) & (along >= ring[0]) & (along < ring[1])
        kind = np.where(on_ring, MOTORWAY, kind)
        here = (row * lines + column)[some]
        parts.append((here, here + across + down * lines, kind))
    for slope in (1, -1):  # the avenues, corner to corner inside the ring
        step = np.arange(ring[0], ring[1])
        rows, next_rows = (step, step + 1) if slope == 1 else (lines - 1 - step, lines - 2 - step)
        parts.append((rows * lines + step, next_rows * lines + step + 1, np.full(len(step), ARTERIAL)))
    start, end, kind = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    stays = (kind != SIDE) | (chance.random(len(kind)) >= LEFT_OUT)
    return start[stays], end[stays], kind[stays]


def _roads(x: Array, y: Array, start: Array, end: Array, kind: Array) -> Roads:
    tail, head, kind = np.concatenate([start, end]), np.concatenate([end, start]), np.concatenate([kind, kind])
    order = np.lexsort((head, tail))
    tail, head, kind = tail[order], head[order], kind[order]
    first = np.searchsorted(tail, np.arange(len(x) + 1))
    metres = np.hypot(x[head] - x[tail], y[head] - y[tail])
    return Roads(first.astype(np.int32), head.astype(np.int32), metres, kind.astype(np.int8))


def _routes(roads: Roads, cost: Array, places: Array) -> Array:
    tail = np.repeat(np.arange(len(roads.first) - 1), np.diff(roads.first)).astype(np.int32)
    routes = np.empty((len(places), len(roads.first) - 1), np.int32)
    for i, place in enumerate(places.tolist()):
        _route_to(roads.first, roads.to, tail, cost, _opposite(roads.first, roads.to, tail), place, routes[i])
    return routes


@njit(cache=True)
def _opposite(first: Array, to: Array, tail: Array) -> Array:
    """The road that leads back, for every road."""
    back = np.empty(len(to), np.int32)
    for road in range(len(to)):
        for other in range(first[to[road]], first[to[road] + 1]):
            if to[other] == tail[road]:
                back[road] = other
    return back


@njit(cache=True)
def _route_to(first: Array, to: Array, tail: Array, cost: Array, back: Array, place: int, route: Array) -> None:
    """Dijkstra from a place outwards: the road that leads from each junction towards it.

    The queue is a binary heap of (cost, junction) pairs; of equal costs the smaller junction comes first.
    """
    junctions = len(first) - 1
    best = np.full(junctions, np.inf)
    costs, heap = np.empty(len(to) + 1), np.empty(len(to) + 1, np.int32)
    route[:] = -1
    best[place] = 0.0
    costs[0], heap[0] = 0.0, place
    size = 1
    while size:
        so_far, junction = costs[0], heap[0]
        size -= 1
        last_cost, last = costs[size], heap[size]
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size and (costs[child + 1], heap[child + 1]) < (costs[child], heap[child]):
                child += 1
            if (last_cost, last) <= (costs[child], heap[child]):
                break
            costs[at], heap[at] = costs[child], heap[child]
            at = child
        costs[at], heap[at] = last_cost, last
        if so_far > best[junction]:
            continue
        for road in range(first[junction], first[junction + 1]):
            total = so_far + cost[back[road]]
            other = to[road]
            if total < best[other]:
                best[other] = total
                route[other] = back[road]
                at = size
                size += 1
                while at and (total, other) < (costs[(at - 1) // 2], heap[(at - 1) // 2]):
                    costs[at], heap[at] = costs[(at - 1) // 2], heap[(at - 1) // 2]
                    at = (at - 1) // 2
                costs[at], heap[at] = total, other


@njit(cache=True)
def _largest_part(junctions: int, start: Array, end: Array) -> Array:
    """Which junctions belong to the largest part of the network that hangs together."""
    leader = np.arange(junctions)
    for i in range(len(start)):
        a, b = start[i], end[i]
        while leader[a] != a:
            leader[a] = leader[leader[a]]
            a = leader[a]
        while leader[b] != b:
            leader[b] = leader[leader[b]]
            b = leader[b]
        leader[max(a, b)] = min(a, b)
    size = np.zeros(junctions, np.int64)
    for i in range(junctions):
        while leader[i] != leader[leader[i]]:
            leader[i] = leader[leader[i]]
        size[leader[i]] += 1
    largest: Array = leader == np.argmax(size)
    return largest
