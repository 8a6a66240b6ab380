"""Searching the shared grid: the objects in a rectangle, the k nearest of a point, and the difference to the last answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from arterial.moving.grid import NONE, Grid, Objects, column_of, row_of
from arterial.moving.query_index import KNN, MOVING_KNN, MOVING_RANGE, RANGE, Index, Queries, enter, enter_open, leave
from arterial.moving.space import EARTH_METRES, degrees_around, inside_metres, unit_vector, wrap_longitude

Array = np.ndarray[Any, Any]

ANSWERED_ALL, NEED_POOL, NEED_UPDATES = 0, 1, 2
WIDE_CELLS = 400
"""A bound from the last answer that spans more cells than this is not worth scanning: a search from the centre is."""


@njit(cache=True)
def answer_queries(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
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
) -> tuple[int, int, int, int, int]:
    """Answer the chosen queries from the `first` on, and put the changes of their answers into `updates`.

    Returns why it stopped, the next query to answer, the next unused mark, and how much of pool and updates is used. Where
    it stops for want of room, nothing of the next query has been done: give more room and call again.
    """
    for i in range(first, len(chosen)):
        query = chosen[i]
        count = _search(objects, grid, queries, index, lonlat, live_count, query, pool, found, distance)
        old_count = queries.count[query]
        if updates_count + old_count + count > len(updates_slot):
            return NEED_UPDATES, i, mark, pool_used, updates_count
        if count > queries.room[query]:
            room = count + count // 2 + 4
            if pool_used + room > len(pool):
                return NEED_POOL, i, mark, pool_used, updates_count
            pool[pool_used : pool_used + old_count] = pool[queries.start[query] : queries.start[query] + old_count]
            queries.start[query] = pool_used
            queries.room[query] = room
            pool_used += room
        updates_count = _exchange(
            objects, queries, query, pool, found, count, mark, updates_query, updates_sign, updates_slot, updates_count
        )
        mark += 2
    return ANSWERED_ALL, len(chosen), mark, pool_used, updates_count


@njit(cache=True, inline="always")
def _search(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
    lonlat: bool,
    live_count: int,
    query: int,
    pool: Array,
    found: Array,
    distance: Array,
) -> int:
    """Put the objects of a query's answer into `found`, enter its region into the index, and return their number."""
    kind = queries.kind[query]
    focal = queries.focal[query]
    shape = queries.shape[query]
    if kind == RANGE:
        return _search_range(
            objects, grid, queries, index, lonlat, query, NONE, shape[0], shape[1], shape[2], shape[3], found
        )
    if kind == KNN:
        return _search_nearest(
            objects, grid, queries, index, lonlat, live_count, query, NONE, shape[0], shape[1], pool, found, distance
        )
    if focal == NONE or not objects.live[focal]:
        leave(queries, index, query)
        return 0
    x, y = objects.x[focal], objects.y[focal]
    if kind == MOVING_KNN:
        return _search_nearest(
            objects, grid, queries, index, lonlat, live_count, query, focal, x, y, pool, found, distance
        )
    if kind == MOVING_RANGE and lonlat:
        return _search_metres(objects, grid, queries, index, query, focal, shape[0], shape[1], found)
    if kind == MOVING_RANGE:
        return _search_range(
            objects,
            grid,
            queries,
            index,
            False,
            query,
            focal,
            x - shape[0] / 2.0,
            y - shape[1] / 2.0,
            x + shape[0] / 2.0,
            y + shape[1] / 2.0,
            found,
        )
    leave(queries, index, query)
    return 0


@njit(cache=True, inline="always")
def _search_range(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
    lonlat: bool,
    query: int,
    focal: int,
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    found: Array,
) -> int:
    low, high = row_of(grid, y1), row_of(grid, y2)
    if lonlat and x1 > x2:  # from x1 east over the 180th meridian to x2
        enter_open(queries, index, query)
        count = _scan_range(objects, grid, focal, x1, y1, 180.0, y2, found, 0)
        return _scan_range(objects, grid, focal, -180.0, y1, x2, y2, found, count)
    enter(queries, index, query, column_of(grid, x1), low, column_of(grid, x2), high)
    return _scan_range(objects, grid, focal, x1, y1, x2, y2, found, 0)


@njit(cache=True, inline="always")
def _scan_range(
    objects: Objects,
    grid: Grid,
    focal: int,
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    found: Array,
    count: int,
) -> int:
    left, right = column_of(grid, x1), column_of(grid, x2)
    low, high = row_of(grid, y1), row_of(grid, y2)
    starts, counts, slots, xs, ys = grid.start, grid.count, grid.slot, grid.x, grid.y
    for row in range(low, high + 1):
        inner_row = low < row < high
        for cell in range(row * grid.size[0] + left, row * grid.size[0] + right + 1):
            begin, end = starts[cell], starts[cell] + counts[cell]
            if inner_row and row * grid.size[0] + left < cell < row * grid.size[0] + right:
                for i in range(begin, end):
                    found[count] = slots[i]
                    count += slots[i] != focal
            else:
                for i in range(begin, end):
                    found[count] = slots[i]
                    inside = (x1 <= xs[i]) & (xs[i] <= x2) & (y1 <= ys[i]) & (ys[i] <= y2)
                    count += inside & (slots[i] != focal)
    return count


@njit(cache=True)
def _search_metres(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
    query: int,
    focal: int,
    length: float,
    width: float,
    found: Array,
) -> int:
    x, y = objects.x[focal], objects.y[focal]
    angle = math.sqrt(length * length + width * width) / 2.0 / EARTH_METRES
    half, low, high = degrees_around(y, min(angle, math.pi))
    count = 0
    for west, east in _longitudes(x, half):
        left, right = column_of(grid, west), column_of(grid, east)
        for row in range(row_of(grid, low), row_of(grid, high) + 1):
            for column in range(left, right + 1):
                cell = row * grid.size[0] + column
                for i in range(grid.start[cell], grid.start[cell] + grid.count[cell]):
                    # Two spans of longitude may share a cell; an object belongs to the span that its longitude is in.
                    slot = grid.slot[i]
                    if slot != focal and west <= grid.x[i] <= east:
                        ux, uy, uz = objects.ux[slot], objects.uy[slot], objects.uz[slot]
                        if inside_metres(x, y, ux, uy, uz, length, width):
                            found[count] = slot
                            count += 1
    _enter_degrees(grid, queries, index, query, x, half, low, high)
    return count


@njit(cache=True, inline="always")
def _search_nearest(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
    lonlat: bool,
    live_count: int,
    query: int,
    focal: int,
    x: float,
    y: float,
    pool: Array,
    found: Array,
    distance: Array,
) -> int:
    k = queries.k[query]
    if live_count - (focal != NONE) <= k:
        enter_open(queries, index, query)
        return _scan_range(objects, grid, focal, -np.inf, -np.inf, np.inf, np.inf, found, 0)
    ux = uy = uz = 0.0
    if lonlat:
        x = wrap_longitude(x)
        ux, uy, uz = unit_vector(x, y)
    bound = _bound_of_last(objects, grid, queries, lonlat, query, focal, x, y, ux, uy, uz, pool)
    if bound < 0.0:
        bound = _bound_of_search(objects, grid, lonlat, k, focal, x, y, ux, uy, uz, distance)
    if lonlat:
        count = _scan_near_on_sphere(objects, grid, focal, x, y, ux, uy, uz, bound, found, distance)
    else:
        count = _scan_near(grid, focal, x, y, bound, found, distance)
    count, radius = _keep_nearest(objects.rank, found, distance, count, k)
    if lonlat:
        half, low, high = degrees_around(y, _angle(radius))
        _enter_degrees(grid, queries, index, query, x, half, low, high)
    else:
        reach = _reach(radius, x, y)
        enter(
            queries,
            index,
            query,
            column_of(grid, x - reach),
            row_of(grid, y - reach),
            column_of(grid, x + reach),
            row_of(grid, y + reach),
        )
    return count


@njit(cache=True, inline="always")
def _bound_of_last(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    lonlat: bool,
    query: int,
    focal: int,
    x: float,
    y: float,
    ux: float,
    uy: float,
    uz: float,
    pool: Array,
) -> float:
    """The squared distance of the farthest of the last answer, if that is k live objects that are still near; else -1."""
    if queries.count[query] != queries.k[query]:
        return -1.0
    start = queries.start[query]
    bound = 0.0
    for i in range(start, start + queries.count[query]):
        slot = pool[i]
        if not objects.live[slot] or slot == focal:
            return -1.0
        bound = max(bound, _squared(objects, lonlat, slot, x, y, ux, uy, uz))
    if lonlat:
        half, low, high = degrees_around(y, _angle(bound))
        columns = min(2.0 * half * grid.place[2], float(grid.size[0]))
        rows = (high - low) * grid.place[3]
    else:
        reach = _reach(bound, x, y)
        columns, rows = 2.0 * reach * grid.place[2], 2.0 * reach * grid.place[3]
    return bound if (columns + 1.0) * (rows + 1.0) <= WIDE_CELLS + 16 * queries.k[query] else -1.0


@njit(cache=True)
def _bound_of_search(
    objects: Objects,
    grid: Grid,
    lonlat: bool,
    k: int,
    focal: int,
    x: float,
    y: float,
    ux: float,
    uy: float,
    uz: float,
    distance: Array,
) -> float:
    """The squared distance within which at least k objects lie, from ever larger squares of cells around the centre."""
    column, row = column_of(grid, x), row_of(grid, y)
    columns, rows = grid.size[0], grid.size[1]
    rings = 1
    while True:
        left, right = max(column - rings, 0), min(column + rings, columns - 1)
        low, high = max(row - rings, 0), min(row + rings, rows - 1)
        count = 0
        for r in range(low, high + 1):
            for c in range(left, right + 1):
                cell = r * columns + c
                for i in range(grid.start[cell], grid.start[cell] + grid.count[cell]):
                    if grid.slot[i] != focal:
                        distance[count] = _squared_at(objects, grid, lonlat, i, x, y, ux, uy, uz)
                        count += 1
        if count >= k:
            return _kth(distance[:count], k)
        rings *= 2


@njit(cache=True, inline="always")
def _scan_near(grid: Grid, focal: int, x: float, y: float, bound: float, found: Array, distance: Array) -> int:
    """Put what lies within the squared distance `bound` of a point of the plane into `found`."""
    reach = _reach(bound, x, y)
    left, right = column_of(grid, x - reach), column_of(grid, x + reach)
    low, high = row_of(grid, y - reach), row_of(grid, y + reach)
    starts, counts, slots, xs, ys = grid.start, grid.count, grid.slot, grid.x, grid.y
    count = 0
    for row in range(low, high + 1):
        for cell in range(row * grid.size[0] + left, row * grid.size[0] + right + 1):
            for i in range(starts[cell], starts[cell] + counts[cell]):
                dx, dy = xs[i] - x, ys[i] - y
                squared = dx * dx + dy * dy
                found[count] = slots[i]
                distance[count] = squared
                count += (squared <= bound) & (slots[i] != focal)
    return count


@njit(cache=True)
def _scan_near_on_sphere(
    objects: Objects,
    grid: Grid,
    focal: int,
    x: float,
    y: float,
    ux: float,
    uy: float,
    uz: float,
    bound: float,
    found: Array,
    distance: Array,
) -> int:
    """Put what lies within the squared chord `bound` of a point of the sphere into `found`."""
    half, south, north = degrees_around(y, _angle(bound))
    low, high = row_of(grid, south), row_of(grid, north)
    starts, counts, slots, xs = grid.start, grid.count, grid.slot, grid.x
    count = 0
    for west, east in _longitudes(x, half):
        left, right = column_of(grid, west), column_of(grid, east)
        for row in range(low, high + 1):
            for cell in range(row * grid.size[0] + left, row * grid.size[0] + right + 1):
                for i in range(starts[cell], starts[cell] + counts[cell]):
                    squared = _squared(objects, True, slots[i], x, y, ux, uy, uz)
                    # Two spans of longitude may share a cell; an object belongs to the span that its longitude is in.
                    if squared <= bound and slots[i] != focal and west <= xs[i] <= east:
                        found[count] = slots[i]
                        distance[count] = squared
                        count += 1
    return count


@njit(cache=True)
def _squared_at(
    objects: Objects, grid: Grid, lonlat: bool, at: int, x: float, y: float, ux: float, uy: float, uz: float
) -> float:
    if lonlat:
        return _squared(objects, True, grid.slot[at], x, y, ux, uy, uz)
    dx, dy = grid.x[at] - x, grid.y[at] - y
    return dx * dx + dy * dy


@njit(cache=True)
def _squared(objects: Objects, lonlat: bool, slot: int, x: float, y: float, ux: float, uy: float, uz: float) -> float:
    if lonlat:
        dx, dy, dz = objects.ux[slot] - ux, objects.uy[slot] - uy, objects.uz[slot] - uz
        return dx * dx + dy * dy + dz * dz
    dx, dy = objects.x[slot] - x, objects.y[slot] - y
    return dx * dx + dy * dy


@njit(cache=True, inline="always")
def _keep_nearest(rank: Array, found: Array, distance: Array, count: int, k: int) -> tuple[int, float]:
    """Keep the k nearest of those found, equal distances to the smaller id; returns their number and the k-th distance."""
    if count <= k:
        return count, distance[:count].max()
    radius = _kth(distance[:count].copy(), k)
    kept = tied = 0
    for i in range(count):  # the nearer ones first, then the tied ones, in place
        if distance[i] < radius:
            found[i], found[kept] = found[kept], found[i]
            distance[i], distance[kept] = distance[kept], distance[i]
            kept += 1
    for i in range(kept, count):
        if distance[i] == radius:
            found[kept + tied], found[i] = found[i], found[kept + tied]
            distance[kept + tied], distance[i] = distance[i], distance[kept + tied]
            tied += 1
    if kept + tied > k:
        sort_by_rank(rank, found[kept : kept + tied])
    return k, radius


@njit(cache=True)
def _kth(values: Array, k: int) -> float:
    """The k-th smallest; disturbs the order of the values."""
    if len(values) > 64:
        return np.partition(values, k - 1)[k - 1]
    for i in range(1, len(values)):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
    return values[k - 1]


@njit(cache=True)
def sort_by_rank(rank: Array, slots: Array) -> None:
    """Sort object slots by the order of their ids."""
    if len(slots) > 48:
        slots[:] = slots[np.argsort(rank[slots])]
        return
    for i in range(1, len(slots)):
        slot = slots[i]
        j = i - 1
        while j >= 0 and rank[slots[j]] > rank[slot]:
            slots[j + 1] = slots[j]
            j -= 1
        slots[j + 1] = slot


@njit(cache=True, inline="always")
def _exchange(
    objects: Objects,
    queries: Queries,
    query: int,
    pool: Array,
    found: Array,
    count: int,
    mark: int,
    updates_query: Array,
    updates_sign: Array,
    updates_slot: Array,
    updates_count: int,
) -> int:
    """Put the new answer in the place of the old one, and the difference, first what leaves, into `updates`."""
    start = queries.start[query]
    for i in range(start, start + queries.count[query]):
        objects.mark[pool[i]] = mark
    added = 0
    for i in range(count):
        slot = found[i]
        if objects.mark[slot] == mark:
            objects.mark[slot] = mark + 1
        else:
            # Those that stay are moved behind those that come, so that one array serves for both.
            found[i], found[added] = found[added], slot
            added += 1
    begin = updates_count
    for i in range(start, start + queries.count[query]):
        if objects.mark[pool[i]] == mark:
            updates_slot[updates_count] = pool[i]
            updates_sign[updates_count] = -1
            updates_count += 1
    sort_by_rank(objects.rank, updates_slot[begin:updates_count])
    sort_by_rank(objects.rank, found[:added])
    for i in range(added):
        updates_slot[updates_count] = found[i]
        updates_sign[updates_count] = 1
        updates_count += 1
    for i in range(begin, updates_count):
        updates_query[i] = query
    pool[start : start + count] = found[:count]
    queries.count[query] = count
    return updates_count


@njit(cache=True)
def _reach(squared: float, x: float, y: float) -> float:
    """A distance certainly not below the root of `squared`, with what rounding may take away at these coordinates."""
    return math.sqrt(squared) * (1.0 + 1e-9) + 1e-15 * (abs(x) + abs(y))


@njit(cache=True)
def _angle(chord_squared: float) -> float:
    return 2.0 * math.asin(min(1.0, math.sqrt(chord_squared) / 2.0)) + 1e-12


@njit(cache=True)
def _longitudes(x: float, half: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The spans of longitude within `half` degrees of a meridian; the second is empty unless they cross the 180th."""
    if half >= 180.0:
        return (-180.0, 180.0), (1.0, -1.0)
    if x - half <= -180.0:
        return (-180.0, x + half), (x - half + 360.0, 180.0)
    if x + half > 180.0:
        return (x - half, 180.0), (-180.0, x + half - 360.0)
    return (x - half, x + half), (1.0, -1.0)


@njit(cache=True)
def _enter_degrees(
    grid: Grid, queries: Queries, index: Index, query: int, x: float, half: float, low: float, high: float
) -> None:
    if half < 180.0 and (x - half <= -180.0 or x + half > 180.0):
        enter_open(queries, index, query)
        return
    west, east = max(x - half, -180.0), min(x + half, 180.0)
    if half >= 180.0:
        west, east = -180.0, 180.0
    enter(queries, index, query, column_of(grid, west), row_of(grid, low), column_of(grid, east), row_of(grid, high))
