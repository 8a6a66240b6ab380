"""The shared grid: all live objects, in the cells of a uniform grid, a doubly linked list a cell.

Cells at the border reach to infinity: a coordinate outside the grid is clamped, and as clamping keeps the order of
coordinates, a search over the cells from that of `low` to that of `high` misses nothing between them. Objects that a
time unit touches make their old and new cell dirty; queries are found from the dirty cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from arterial.moving.space import unit_vector, wrap_longitude

Array = np.ndarray[Any, Any]

OBJECTS_PER_CELL = 2.0
MOST_CELLS = 1 << 22
NONE = -1


class Objects(NamedTuple):
    """A column for everything that is known of an object; an object is a row, its `slot`."""

    x: Array
    y: Array
    ux: Array
    uy: Array
    uz: Array
    rank: Array
    last: Array
    live: Array
    cell: Array
    after: Array
    before: Array
    first_query: Array
    mark: Array


class Grid(NamedTuple):
    """Cells in rows of `size[0]`; `place` is the origin and the cells per unit of x and y."""

    size: Array
    place: Array
    head: Array
    dirty: Array


def empty_objects(room: int) -> Objects:
    """Columns with room for so many objects."""
    return Objects(
        *(np.zeros(room) for _ in range(5)),
        rank=np.zeros(room, np.int64),
        last=np.full(room, -np.inf),
        live=np.zeros(room, np.int8),
        cell=np.full(room, NONE, np.int32),
        after=np.full(room, NONE, np.int32),
        before=np.full(room, NONE, np.int32),
        first_query=np.full(room, NONE, np.int32),
        mark=np.zeros(room, np.int64),
    )


def fitted_grid(objects: Objects, lonlat: bool) -> Grid:
    """An empty grid that fits the live objects: some two a cell, over all but the outermost of them."""
    live = objects.live == 1
    x, y = objects.x[live], objects.y[live]
    count = len(x)
    if count == 0:
        x, y = np.zeros(1), np.zeros(1)
    (low_x, high_x), (low_y, high_y) = _bulk(x), _bulk(y)
    shrink = math.cos(math.radians(min(80.0, max(abs(low_y), abs(high_y))))) if lonlat else 1.0
    breadth, height = max(high_x - low_x, 1e-300) * shrink, max(high_y - low_y, 1e-300)
    cells = min(max(count / OBJECTS_PER_CELL, 1.0), MOST_CELLS)
    columns = int(min(max(math.sqrt(cells) * math.sqrt(breadth) / math.sqrt(height), 1.0), cells))
    rows = max(int(cells / columns), 1)
    return Grid(
        size=np.array([columns, rows], np.int64),
        place=np.array([low_x, low_y, _scale(columns, high_x - low_x), _scale(rows, high_y - low_y)]),
        head=np.full(columns * rows, NONE, np.int32),
        dirty=np.zeros(columns * rows, np.int64),
    )


@njit(cache=True)
def column_of(grid: Grid, x: float) -> int:
    """The column of cells in which x lies."""
    place = (x - grid.place[0]) * grid.place[2]
    if not place > 0.0:
        return 0
    return int(place) if place < grid.size[0] else grid.size[0] - 1


@njit(cache=True)
def row_of(grid: Grid, y: float) -> int:
    """The row of cells in which y lies."""
    place = (y - grid.place[1]) * grid.place[3]
    if not place > 0.0:
        return 0
    return int(place) if place < grid.size[1] else grid.size[1] - 1


@njit(cache=True)
def link(objects: Objects, grid: Grid, slot: int, cell: int) -> None:
    """Put an object at the head of a cell's list."""
    first = grid.head[cell]
    objects.after[slot] = first
    objects.before[slot] = NONE
    if first != NONE:
        objects.before[first] = slot
    grid.head[cell] = slot
    objects.cell[slot] = cell


@njit(cache=True)
def unlink(objects: Objects, grid: Grid, slot: int) -> None:
    """Take an object out of its cell's list."""
    after, before = objects.after[slot], objects.before[slot]
    if before != NONE:
        objects.after[before] = after
    else:
        grid.head[objects.cell[slot]] = after
    if after != NONE:
        objects.before[after] = before
    objects.cell[slot] = NONE


@njit(cache=True)
def link_all(objects: Objects, grid: Grid) -> None:
    """Put every live object into a new grid."""
    for slot in range(len(objects.x)):
        if objects.live[slot]:
            cell = row_of(grid, objects.y[slot]) * grid.size[0] + column_of(grid, objects.x[slot])
            link(objects, grid, slot, cell)


@njit(cache=True)
def place_reports(
    objects: Objects,
    grid: Grid,
    lonlat: bool,
    time: float,
    slots: Array,
    xs: Array,
    ys: Array,
    stamp: int,
    dirty: Array,
    focals: Array,
) -> tuple[int, int, int, int]:
    """Take in the reports of one time unit, the last of an object winning.

    Fills `dirty` with the cells touched and `focals` with the objects that carry queries and moved. Returns the number of
    each, how many objects are new, and how many reports lay outside the grid.
    """
    dirty_count = focal_count = new_count = outside = 0
    columns = grid.size[0]
    for i in range(len(slots)):
        slot = slots[i]
        x, y = xs[i], ys[i]
        if lonlat:
            x = wrap_longitude(x)
        objects.last[slot] = time
        if objects.live[slot]:
            if x == objects.x[slot] and y == objects.y[slot]:
                continue
            old = objects.cell[slot]
        else:
            objects.live[slot] = 1
            new_count += 1
            old = NONE
        objects.x[slot] = x
        objects.y[slot] = y
        if lonlat:
            objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(x, y)
        place_x = (x - grid.place[0]) * grid.place[2]
        place_y = (y - grid.place[1]) * grid.place[3]
        if place_x < 0.0 or place_y < 0.0 or place_x > columns or place_y > grid.size[1]:
            outside += 1
        new = row_of(grid, y) * columns + column_of(grid, x)
        if new != old:
            if old != NONE:
                unlink(objects, grid, slot)
                if grid.dirty[old] != stamp:
                    grid.dirty[old] = stamp
                    dirty[dirty_count] = old
                    dirty_count += 1
            link(objects, grid, slot, new)
        if grid.dirty[new] != stamp:
            grid.dirty[new] = stamp
            dirty[dirty_count] = new
            dirty_count += 1
        if objects.first_query[slot] != NONE:
            focals[focal_count] = slot
            focal_count += 1
    return dirty_count, focal_count, new_count, outside


@njit(cache=True)
def disconnect_silent(
    objects: Objects,
    grid: Grid,
    slots_used: int,
    since: float,
    stamp: int,
    dirty: Array,
    dirty_count: int,
    focals: Array,
    focal_count: int,
    gone: Array,
) -> tuple[int, int, int]:
    """Take out the objects whose last report is at `since` or before; returns the counts of dirty, focals and gone."""
    gone_count = 0
    for slot in range(slots_used):
        if objects.live[slot] and objects.last[slot] <= since:
            cell = objects.cell[slot]
            unlink(objects, grid, slot)
            objects.live[slot] = 0
            if grid.dirty[cell] != stamp:
                grid.dirty[cell] = stamp
                dirty[dirty_count] = cell
                dirty_count += 1
            if objects.first_query[slot] != NONE:
                focals[focal_count] = slot
                focal_count += 1
            gone[gone_count] = slot
            gone_count += 1
    return dirty_count, focal_count, gone_count


def _bulk(values: Array) -> tuple[float, float]:
    """Where all but the outermost one in two hundred lie, so that an outlier does not make every cell large."""
    trim = len(values) // 200
    if trim:
        values = np.partition(values, (trim, len(values) - 1 - trim))[trim : len(values) - trim]
    return float(values.min()), float(values.max())


def _scale(count: int, extent: float) -> float:
    scale = count / extent if extent > 0.0 else 1.0
    return scale if math.isfinite(scale) else 1.0
