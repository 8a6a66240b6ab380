"""The shared grid: all live objects, once, in the cells of a uniform grid.

The objects of a cell stand side by side with their coordinates, and the cells of a row one after another, so that a
search reads a run of memory for each row. When a large share of the objects moves in a time unit, all are arranged
again. When few move, cells have some room to spare, filled with coordinates that are no numbers and so in no region;
when a cell's room runs out, all are arranged again.

Cells at the border reach to infinity: a coordinate outside the grid is clamped, and as clamping keeps the order of
coordinates, a search over the cells from that of `low` to that of `high` misses nothing between them. Objects that a
time unit touches make their old and new cell dirty; queries are found from the dirty cells.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.queries.space import unit_vector, wrap_longitude

OBJECTS_PER_CELL = 3.0
MOST_CELLS = 1 << 22
SPARE = 4
"""How many more objects a cell has room for when all are arranged."""
DENSE = 4
"""When one in so many objects moves in a time unit, or more, all are arranged again."""
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
    where: Array
    first_query: Array
    mark: Array


class Grid(NamedTuple):
    """Cells in rows of `size[0]`; `place` is the origin and the cells per unit of x and y.

    A cell's objects are `slot`, `x` and `y` from its `start` on, `held` of them; its room ends where the next one
    starts.
    """

    size: Array
    place: Array
    start: Array
    held: Array
    slot: Array
    x: Array
    y: Array
    dirty: Array


def empty_objects(room: int) -> Objects:
    """Columns with room for so many objects."""
    return Objects(
        x=np.zeros(room),
        y=np.zeros(room),
        ux=np.zeros(room),
        uy=np.zeros(room),
        uz=np.zeros(room),
        rank=np.zeros(room, np.int64),
        last=np.full(room, -np.inf),
        live=np.zeros(room, np.int8),
        cell=np.full(room, NONE, np.int32),
        where=np.full(room, NONE, np.int32),
        first_query=np.full(room, NONE, np.int32),
        mark=np.zeros(room, np.int32),
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
    room = len(objects.x) + SPARE * columns * rows
    return Grid(
        size=np.array([columns, rows], np.int64),
        place=np.array([low_x, low_y, _scale(columns, high_x - low_x), _scale(rows, high_y - low_y)]),
        start=np.zeros(columns * rows + 1, np.int32),
        held=np.zeros(columns * rows, np.int32),
        slot=np.zeros(room, np.int32),
        x=np.zeros(room),
        y=np.zeros(room),
        dirty=np.zeros(columns * rows, np.int64),
    )


def with_room(grid: Grid, objects: int) -> Grid:
    """The same grid with room for so many objects."""
    room = objects + SPARE * len(grid.held)
    larger = (np.zeros(room, column.dtype) for column in (grid.slot, grid.x, grid.y))
    columns = [_copied(column, into) for column, into in zip((grid.slot, grid.x, grid.y), larger, strict=True)]
    return grid._replace(slot=columns[0], x=columns[1], y=columns[2])


@njit(cache=True)
def column_of(grid: Grid, x: float) -> int:
    """The column of cells in which x lies."""
    return _stripe(x, grid.place[0], grid.place[2], grid.size[0])


@njit(cache=True)
def row_of(grid: Grid, y: float) -> int:
    """The row of cells in which y lies."""
    return _stripe(y, grid.place[1], grid.place[3], grid.size[1])


@njit(cache=True)
def arrange(objects: Objects, grid: Grid, slots_used: int, again: bool, spare: int) -> None:
    """Put every live object into its cell, with room for `spare` more in each.

    `again` finds the cells from the coordinates; otherwise they are known.
    """
    lives, cells, wheres, xs, ys = objects.live, objects.cell, objects.where, objects.x, objects.y
    starts, helds, grid_slots, grid_xs, grid_ys = grid.start, grid.held, grid.slot, grid.x, grid.y
    if again:
        for slot in range(slots_used):
            cells[slot] = _cell_of(grid, xs[slot], ys[slot])
    helds[:] = 0
    for slot in range(slots_used):
        helds[max(cells[slot], 0)] += lives[slot]
    start = 0
    for cell in range(len(helds)):
        starts[cell] = start
        start += helds[cell] + spare
        helds[cell] = 0
    starts[len(helds)] = start
    if spare:
        grid_xs[:start] = np.nan
    for slot in range(slots_used):
        if lives[slot]:
            cell = cells[slot]
            at = starts[cell] + helds[cell]
            helds[cell] += 1
            grid_slots[at] = slot
            grid_xs[at] = xs[slot]
            grid_ys[at] = ys[slot]
            wheres[slot] = at


@njit(cache=True)
def place_all(
    objects: Objects,
    grid: Grid,
    slots_used: int,
    lonlat: bool,
    time: float,
    slots: Array,
    xs: Array,
    ys: Array,
) -> tuple[int, int]:
    """Take in the reports of a time unit in which many report; returns how many objects are new, how many outside."""
    lives, cells, lasts, object_xs, object_ys = objects.live, objects.cell, objects.last, objects.x, objects.y
    left, low, across, up = grid.place[0], grid.place[1], grid.place[2], grid.place[3]
    columns, rows = grid.size[0], grid.size[1]
    new_count = outside = 0
    if lonlat:
        xs = xs.copy()
        for i in range(len(slots)):
            slot = slots[i]
            xs[i] = wrap_longitude(xs[i])
            objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(xs[i], ys[i])
    for i in range(len(slots)):
        slot, x, y = slots[i], xs[i], ys[i]
        lasts[slot] = time
        object_xs[slot] = x
        object_ys[slot] = y
        new_count += 1 - lives[slot]
        lives[slot] = 1
        place_x, place_y = (x - left) * across, (y - low) * up
        outside += (place_x < 0.0) | (place_y < 0.0) | (place_x > columns) | (place_y > rows)
        cells[slot] = _stripe(y, low, up, rows) * columns + _stripe(x, left, across, columns)
    arrange(objects, grid, slots_used, False, 0)
    return new_count, outside


@njit(cache=True)
def place_some(
    objects: Objects,
    grid: Grid,
    slots_used: int,
    lonlat: bool,
    time: float,
    slots: Array,
    xs: Array,
    ys: Array,
    stamp: int,
    dirty: Array,
    focals: Array,
) -> tuple[int, int, int, int]:
    """Take in the reports of a time unit in which few report.

    Fills `dirty` with the cells touched and `focals` with the objects that carry queries and moved. Returns the number
    of each, how many objects are new, and how many reports lay outside the grid.
    """
    dirty_count = focal_count = new_count = outside = 0
    for i in range(len(slots)):
        slot = slots[i]
        x, y = xs[i], ys[i]
        if lonlat:
            x = wrap_longitude(x)
        objects.last[slot] = time
        old = NONE
        if objects.live[slot]:
            if x == objects.x[slot] and y == objects.y[slot]:
                continue
            old = objects.cell[slot]
        else:
            objects.live[slot] = 1
            new_count += 1
        objects.x[slot] = x
        objects.y[slot] = y
        if lonlat:
            objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(x, y)
        outside += _is_outside(grid, x, y)
        new = _cell_of(grid, x, y)
        if new == old:
            grid.x[objects.where[slot]] = x
            grid.y[objects.where[slot]] = y
        else:
            if old != NONE:
                _take_out(objects, grid, slot)
                dirty_count = _soil(grid, old, stamp, dirty, dirty_count)
            objects.cell[slot] = new
            if grid.start[new] + grid.held[new] < grid.start[new + 1]:
                _append(objects, grid, slot, new)
            else:
                arrange(objects, grid, slots_used, False, SPARE)
        dirty_count = _soil(grid, new, stamp, dirty, dirty_count)
        if objects.first_query[slot] != NONE:
            focals[focal_count] = slot
            focal_count += 1
    return dirty_count, focal_count, new_count, outside


@njit(cache=True)
def point_to(objects: Objects, slots: Array) -> None:
    """Compute the unit vectors of objects."""
    for slot in slots:
        objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(objects.x[slot], objects.y[slot])


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
            _take_out(objects, grid, slot)
            objects.live[slot] = 0
            dirty_count = _soil(grid, objects.cell[slot], stamp, dirty, dirty_count)
            if objects.first_query[slot] != NONE:
                focals[focal_count] = slot
                focal_count += 1
            gone[gone_count] = slot
            gone_count += 1
    return dirty_count, focal_count, gone_count


@njit(cache=True)
def _stripe(value: float, origin: float, scale: float, count: int) -> int:
    # Without branches: numba keeps count of references to arrays across branches, at ten times the cost of the work.
    return int(min(max((value - origin) * scale, 0.0), count - 1.0))


@njit(cache=True)
def _cell_of(grid: Grid, x: float, y: float) -> int:
    return row_of(grid, y) * int(grid.size[0]) + column_of(grid, x)


@njit(cache=True)
def _is_outside(grid: Grid, x: float, y: float) -> bool:
    place_x = (x - grid.place[0]) * grid.place[2]
    place_y = (y - grid.place[1]) * grid.place[3]
    return bool((place_x < 0.0) | (place_y < 0.0) | (place_x > grid.size[0]) | (place_y > grid.size[1]))


@njit(cache=True)
def _append(objects: Objects, grid: Grid, slot: int, cell: int) -> None:
    at = grid.start[cell] + grid.held[cell]
    grid.held[cell] += 1
    grid.slot[at] = slot
    grid.x[at] = objects.x[slot]
    grid.y[at] = objects.y[slot]
    objects.where[slot] = at


@njit(cache=True)
def _take_out(objects: Objects, grid: Grid, slot: int) -> None:
    """Fill an object's place in its cell with the last of the cell."""
    cell, at = objects.cell[slot], objects.where[slot]
    grid.held[cell] -= 1
    last = grid.start[cell] + grid.held[cell]
    moved = grid.slot[last]
    grid.slot[at] = moved
    grid.x[at] = grid.x[last]
    grid.y[at] = grid.y[last]
    grid.x[last] = np.nan
    objects.where[moved] = at


@njit(cache=True)
def _soil(grid: Grid, cell: int, stamp: int, dirty: Array, dirty_count: int) -> int:
    if grid.dirty[cell] == stamp:
        return dirty_count
    grid.dirty[cell] = stamp
    dirty[dirty_count] = cell
    return dirty_count + 1


def _copied(column: Array, into: Array) -> Array:
    into[: len(column)] = column
    return into


def _bulk(values: Array) -> tuple[float, float]:
    """Where all but the outermost one in two hundred lie, so that an outlier does not make every cell large."""
    trim = len(values) // 200
    if trim:
        values = np.partition(values, (trim, len(values) - 1 - trim))[trim : len(values) - trim]
    return float(values.min()), float(values.max())


def _scale(count: int, extent: float) -> float:
    scale = count / extent if extent > 0.0 else 1.0
    return min(max(scale, 1e-300), 1e300)
