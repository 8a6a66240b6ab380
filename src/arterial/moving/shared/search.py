"""Answering queries from the shared grid, and exchanging each new answer for the last one."""

from __future__ import annotations

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.queries.space import degrees_around, unit_vector, wrap_longitude
from arterial.moving.shared.grid import NONE, Grid, Objects, column_of, row_of
from arterial.moving.shared.query_index import FREE, MOVING_KNN, MOVING_RANGE, NOWHERE, OPEN, RANGE, Queries
from arterial.moving.shared.scan import (
    angle_of,
    longitudes,
    metres_angle,
    reach_of,
    scan_cap,
    scan_circle,
    scan_metres,
    scan_rectangle,
    scan_square,
)

ANSWERED_ALL, NEED_POOL, NEED_UPDATES = 0, 1, 2
WIDE_CELLS = 400.0
"""A bound from the last answer that spans more cells than this is not worth scanning: a search from the centre is."""
FEW = 48
"""So many values are sorted by insertion."""


@njit(cache=True)
def answer_queries(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    lonlat: bool,
    live_count: int,
    chosen: Array,
    first: int,
    mark: int,
    pool: Array,
    pool_used: int,
    found: Array,
    distance: Array,
    updates_query: Array,
    updates_sign: Array,
    updates_slot: Array,
    updates_count: int,
    silently: bool,
) -> tuple[int, int, int, int, int]:
    """Answer the chosen queries from the `first` on, and put the changes of their answers into `updates`.

    Where it is done `silently`, nothing is put there.

    Returns why it stopped, the next query to answer, the next unused mark, and how much of pool and updates is used.
    Where it stops for want of room, nothing of the next query has been done: give more room and call again.
    """
    kinds, ks, focals, shapes, regions = queries.kind, queries.k, queries.focal, queries.shape, queries.cells
    starts, helds, rooms = queries.start, queries.held, queries.room
    xs, ys, live, ranks, marks = objects.x, objects.y, objects.live, objects.rank, objects.mark
    for i in range(first, len(chosen)):
        query = chosen[i]
        kind, focal, cells = kinds[query], focals[query], regions[query]
        start, held = starts[query], helds[query]
        count = 0
        if kind == FREE or (kind in (MOVING_RANGE, MOVING_KNN) and not live[focal]):
            cells[0] = NOWHERE
        elif lonlat:
            count = _search_sphere(objects, grid, queries, live_count, query, pool, found, distance)
        elif kind in (RANGE, MOVING_RANGE):
            x1, y1, x2, y2 = shapes[query, 0], shapes[query, 1], shapes[query, 2], shapes[query, 3]
            if kind == MOVING_RANGE:
                x2, y2 = xs[focal] + x1 / 2.0, ys[focal] + y1 / 2.0
                x1, y1 = xs[focal] - x1 / 2.0, ys[focal] - y1 / 2.0
            count = scan_rectangle(grid, focal, x1, y1, x2, y2, found, 0)
            cells[0], cells[1] = column_of(grid, x1), row_of(grid, y1)
            cells[2], cells[3] = column_of(grid, x2), row_of(grid, y2)
        else:
            x, y, k = shapes[query, 0], shapes[query, 1], ks[query]
            if kind == MOVING_KNN:
                x, y = xs[focal], ys[focal]
            if live_count - (focal != NONE) <= k:
                cells[0] = OPEN
                count = scan_rectangle(grid, focal, -np.inf, -np.inf, np.inf, np.inf, found, 0)
            else:
                bound = -1.0
                if held == k:
                    bound = _bound_of_last(pool[start : start + held], live, xs, ys, focal, x, y)
                reach = 2.0 * reach_of(max(bound, 0.0), x, y)
                if bound < 0.0 or (reach * grid.place[2] + 1.0) * (reach * grid.place[3] + 1.0) > WIDE_CELLS + 16 * k:
                    bound = _bound_of_search(grid, k, focal, x, y, found, distance)
                count = scan_circle(grid, focal, x, y, bound, found, distance)
                radius = keep_nearest(ranks, found, distance, count, k)
                count = k
                reach = reach_of(radius, x, y)
                cells[0], cells[1] = column_of(grid, x - reach), row_of(grid, y - reach)
                cells[2], cells[3] = column_of(grid, x + reach), row_of(grid, y + reach)
        if not silently and updates_count + held + count > len(updates_slot):
            return NEED_UPDATES, i, mark, pool_used, updates_count
        if count > rooms[query]:
            room = count + count // 2 + 4
            if pool_used + room > len(pool):
                return NEED_POOL, i, mark, pool_used, updates_count
            pool[pool_used : pool_used + held] = pool[start : start + held]
            start = pool_used
            starts[query], rooms[query] = start, room
            pool_used += room
        helds[query] = count
        if silently:
            pool[start : start + count] = found[:count]
            continue
        begin = updates_count
        updates_count = exchange(
            pool, start, held, found, count, marks, mark, ranks, updates_sign, updates_slot, updates_count
        )
        updates_query[begin:updates_count] = query
        mark += 2
    return ANSWERED_ALL, len(chosen), mark, pool_used, updates_count


@njit(cache=True)
def exchange(
    pool: Array,
    start: int,
    held: int,
    found: Array,
    count: int,
    marks: Array,
    mark: int,
    ranks: Array,
    updates_sign: Array,
    updates_slot: Array,
    updates_count: int,
) -> int:
    """Put the new answer in the place of the old one, and the difference, first what leaves, into `updates`.

    `mark` and the number after it must be new: objects of the old answer are marked with them.
    """
    for i in range(start, start + held):
        marks[pool[i]] = mark
    # Without branches, as who comes and who leaves is hard to predict: all are written, and the place moves on or not.
    begin = updates_count + held
    added = begin
    for i in range(count):
        slot = found[i]
        updates_slot[added] = slot
        added += marks[slot] != mark
        marks[slot] = mark + 1
    added -= begin
    gone = updates_count
    if held != count - added:
        for i in range(start, start + held):
            updates_slot[gone] = pool[i]
            gone += marks[pool[i]] == mark
        sort_by_rank(ranks, updates_slot, updates_count, gone)
        updates_sign[updates_count:gone] = -1
    if added:
        sort_by_rank(ranks, updates_slot, begin, begin + added)
        for i in range(added):
            updates_slot[gone + i] = updates_slot[begin + i]
        updates_sign[gone : gone + added] = 1
    for i in range(count):
        pool[start + i] = found[i]
    return gone + added


@njit(cache=True)
def keep_nearest(ranks: Array, found: Array, distance: Array, count: int, k: int) -> float:
    """Bring the k nearest of those found to the front, equal distances to the smaller id; returns the k-th distance."""
    if count == k:
        farthest = 0.0
        for i in range(count):
            farthest = max(farthest, distance[i])
        return farthest
    if count > FEW:
        order = np.argsort(distance[:count], kind="mergesort")
        found[:count] = found[:count][order]
        distance[:count] = distance[:count][order]
    else:
        for i in range(1, count):
            slot, squared = found[i], distance[i]
            j = i - 1
            while j >= 0 and distance[j] > squared:
                found[j + 1], distance[j + 1] = found[j], distance[j]
                j -= 1
            found[j + 1], distance[j + 1] = slot, squared
    radius = float(distance[k - 1])
    if distance[k] == radius:
        first, last = k - 1, k
        while first > 0 and distance[first - 1] == radius:
            first -= 1
        while last + 1 < count and distance[last + 1] == radius:
            last += 1
        sort_by_rank(ranks, found, first, last + 1)
    return radius


@njit(cache=True)
def sort_by_rank(ranks: Array, slots: Array, begin: int, end: int) -> None:
    """Sort a part of an array of object slots by the order of their ids."""
    if end - begin > FEW:
        part = slots[begin:end]
        slots[begin:end] = part[np.argsort(ranks[part])]
        return
    for i in range(begin + 1, end):
        slot = slots[i]
        rank = ranks[slot]
        j = i - 1
        while j >= begin and ranks[slots[j]] > rank:
            slots[j + 1] = slots[j]
            j -= 1
        slots[j + 1] = slot


@njit(cache=True)
def _bound_of_last(last: Array, live: Array, xs: Array, ys: Array, focal: int, x: float, y: float) -> float:
    """The squared distance of the farthest of the last answer; -1 if one of it is gone."""
    bound = 0.0
    for i in range(len(last)):
        slot = last[i]
        if not live[slot] or slot == focal:
            return -1.0
        dx, dy = xs[slot] - x, ys[slot] - y
        bound = max(bound, dx * dx + dy * dy)
    return bound


@njit(cache=True)
def _bound_of_search(grid: Grid, k: int, focal: int, x: float, y: float, found: Array, distance: Array) -> float:
    """A squared distance within which at least k objects lie, from ever larger squares of cells around the centre."""
    rings, count = 1, 0
    while count < k:
        count = scan_square(grid, rings, focal, x, y, found, distance)
        rings *= 2
    return float(np.partition(distance[:count], k - 1)[k - 1])


@njit(cache=True)
def _search_sphere(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    live_count: int,
    query: int,
    pool: Array,
    found: Array,
    distance: Array,
) -> int:
    """Find a query's answer on the sphere and note its region."""
    kind, focal, k = queries.kind[query], queries.focal[query], queries.k[query]
    shape, cells = queries.shape[query], queries.cells[query]
    x, y = shape[0], shape[1]
    if kind == RANGE:
        if x > shape[2]:  # from x east over the 180th meridian to x2
            cells[0] = OPEN
            count = scan_rectangle(grid, NONE, x, y, 180.0, shape[3], found, 0)
            return scan_rectangle(grid, NONE, -180.0, y, shape[2], shape[3], found, count)
        cells[0], cells[1] = column_of(grid, x), row_of(grid, y)
        cells[2], cells[3] = column_of(grid, shape[2]), row_of(grid, shape[3])
        return scan_rectangle(grid, NONE, x, y, shape[2], shape[3], found, 0)
    if focal != NONE:
        x, y = objects.x[focal], objects.y[focal]
    x = wrap_longitude(x)
    if kind == MOVING_RANGE:
        count = scan_metres(objects, grid, focal, x, y, shape[0], shape[1], found)
        _note_cap(grid, cells, x, y, metres_angle(shape[0], shape[1]))
        return count
    if live_count - (focal != NONE) <= k:
        cells[0] = OPEN
        return scan_rectangle(grid, focal, -np.inf, -np.inf, np.inf, np.inf, found, 0)
    u = unit_vector(x, y)
    start = queries.start[query]
    bound = -1.0
    if queries.held[query] == k:
        bound = _bound_of_last_on_sphere(objects, grid, pool[start : start + k], focal, y, u)
    rings, count = 1, 0
    while bound < 0.0:
        count = scan_square(grid, rings, focal, x, y, found, distance)
        if count >= k:
            for i in range(count):
                distance[i] = _chord(objects, found[i], u)
            bound = float(np.partition(distance[:count], k - 1)[k - 1])
        rings *= 2
    count = scan_cap(objects, grid, focal, x, y, u, bound, found, distance)
    radius = keep_nearest(objects.rank, found, distance, count, k)
    _note_cap(grid, cells, x, y, angle_of(radius))
    return int(k)


@njit(cache=True)
def _bound_of_last_on_sphere(
    objects: Objects, grid: Grid, last: Array, focal: int, y: float, u: tuple[float, float, float]
) -> float:
    bound = 0.0
    for i in range(len(last)):
        if not objects.live[last[i]] or last[i] == focal:
            return -1.0
        bound = max(bound, _chord(objects, last[i], u))
    half, low, high = degrees_around(y, angle_of(bound))
    columns = min(2.0 * half * grid.place[2], float(grid.size[0])) + 1.0
    rows = min((high - low) * grid.place[3], float(grid.size[1])) + 1.0
    return bound if columns * rows <= WIDE_CELLS + 16 * len(last) else -1.0


@njit(cache=True)
def _chord(objects: Objects, slot: int, u: tuple[float, float, float]) -> float:
    return float((objects.ux[slot] - u[0]) ** 2 + (objects.uy[slot] - u[1]) ** 2 + (objects.uz[slot] - u[2]) ** 2)


@njit(cache=True)
def _note_cap(grid: Grid, cells: Array, x: float, y: float, angle: float) -> None:
    """Note the cells of a cap of the sphere as a query's region; across the 180th meridian, anything."""
    half, low, high = degrees_around(y, angle)
    (west, east), (other_west, other_east) = longitudes(x, half)
    if other_west <= other_east:
        cells[0] = OPEN
        return
    cells[0], cells[1], cells[2], cells[3] = (
        column_of(grid, west),
        row_of(grid, low),
        column_of(grid, east),
        row_of(grid, high),
    )
