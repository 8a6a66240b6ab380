"""Scans of the shared grid: what lies in a rectangle, in a circle, in a cap of the sphere. Each is one pass over cells.

The functions take single arrays, or the grid alone, and avoid branches around them: numba counts references to arrays
that pass through branches and calls, which costs more than the scan itself.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.queries.space import EARTH_METRES, degrees_around, inside_metres
from arterial.moving.shared.grid import Grid, Objects, column_of, row_of


@njit(cache=True)
def scan_rectangle(grid: Grid, focal: int, x1: float, y1: float, x2: float, y2: float, found: Array, count: int) -> int:
    """Append what lies in a rectangle, sides included, but the focal object, to the `count` found so far."""
    left, right = column_of(grid, x1), column_of(grid, x2)
    low, high = row_of(grid, y1), row_of(grid, y2)
    starts, slots, xs, ys, columns = grid.start, grid.slot, grid.x, grid.y, grid.size[0]
    for row in range(low, high + 1):
        for i in range(starts[row * columns + left], starts[row * columns + right + 1]):
            x, y = xs[i], ys[i]
            found[count] = slots[i]
            # A product, as `and` would be compiled to branches that are hard to predict.
            within = np.int64(x1 <= x) * np.int64(x <= x2) * np.int64(y1 <= y) * np.int64(y <= y2)
            count += within * (slots[i] != focal)
    return count


@njit(cache=True)
def scan_circle(grid: Grid, focal: int, x: float, y: float, bound: float, found: Array, distance: Array) -> int:
    """Find what lies within the squared distance `bound` of a point, but the focal object, with its distance."""
    reach = reach_of(bound, x, y)
    left, right = column_of(grid, x - reach), column_of(grid, x + reach)
    low, high = row_of(grid, y - reach), row_of(grid, y + reach)
    starts, slots, xs, ys, columns = grid.start, grid.slot, grid.x, grid.y, grid.size[0]
    count = 0
    for row in range(low, high + 1):
        for i in range(starts[row * columns + left], starts[row * columns + right + 1]):
            dx, dy = xs[i] - x, ys[i] - y
            squared = dx * dx + dy * dy
            found[count] = slots[i]
            distance[count] = squared
            count += (squared <= bound) & (slots[i] != focal)
    return count


@njit(cache=True)
def scan_square(grid: Grid, rings: int, focal: int, x: float, y: float, found: Array, distance: Array) -> int:
    """Find all that lies in the cells up to `rings` away from a point's, but the focal object, with its distance."""
    column, row = column_of(grid, x), row_of(grid, y)
    columns, rows = grid.size[0], grid.size[1]
    left, right = max(column - rings, 0), min(column + rings, columns - 1)
    starts, slots, xs, ys = grid.start, grid.slot, grid.x, grid.y
    count = 0
    for r in range(max(row - rings, 0), min(row + rings, rows - 1) + 1):
        for i in range(starts[r * columns + left], starts[r * columns + right + 1]):
            dx, dy = xs[i] - x, ys[i] - y
            squared = dx * dx + dy * dy
            found[count] = slots[i]
            distance[count] = squared
            count += (squared <= np.inf) & (slots[i] != focal)  # spare room has no distance
    return count


@njit(cache=True)
def scan_cap(
    objects: Objects,
    grid: Grid,
    focal: int,
    x: float,
    y: float,
    u: tuple[float, float, float],
    bound: float,
    found: Array,
    distance: Array,
) -> int:
    """Find what lies within the squared chord `bound` of a point of the sphere, `u` as a vector, with its chord."""
    half, south, north = degrees_around(y, angle_of(bound))
    starts, slots, xs = grid.start, grid.slot, grid.x
    uxs, uys, uzs = objects.ux, objects.uy, objects.uz
    columns = grid.size[0]
    count = 0
    for west, east in longitudes(x, half):
        left, right = column_of(grid, west), column_of(grid, east)
        for row in range(row_of(grid, south), row_of(grid, north) + 1):
            for i in range(starts[row * columns + left], starts[row * columns + right + 1]):
                slot = slots[i]
                squared = (uxs[slot] - u[0]) ** 2 + (uys[slot] - u[1]) ** 2 + (uzs[slot] - u[2]) ** 2
                found[count] = slot
                distance[count] = squared
                # Two spans of longitude may share a cell; an object belongs to the span that its longitude is in.
                count += (squared <= bound) & (slot != focal) & (west <= xs[i]) & (xs[i] <= east)
    return count


@njit(cache=True)
def scan_metres(
    objects: Objects, grid: Grid, focal: int, x: float, y: float, length: float, width: float, found: Array
) -> int:
    """Find what lies in the rectangle of so many metres about a point of the sphere, but the focal object."""
    half, south, north = degrees_around(y, metres_angle(length, width))
    count = 0
    for west, east in longitudes(x, half):
        left, right = column_of(grid, west), column_of(grid, east)
        for row in range(row_of(grid, south), row_of(grid, north) + 1):
            for i in range(grid.start[row * grid.size[0] + left], grid.start[row * grid.size[0] + right + 1]):
                slot = grid.slot[i]
                if slot != focal and west <= grid.x[i] <= east:
                    ux, uy, uz = objects.ux[slot], objects.uy[slot], objects.uz[slot]
                    if inside_metres(x, y, ux, uy, uz, length, width):
                        found[count] = slot
                        count += 1
    return count


@njit(cache=True)
def reach_of(squared: float, x: float, y: float) -> float:
    """A distance certainly not below the root of `squared`, with what rounding may take away at these coordinates."""
    return math.sqrt(squared) * (1.0 + 1e-9) + 1e-15 * (abs(x) + abs(y))


@njit(cache=True)
def angle_of(chord_squared: float) -> float:
    """The angle that a squared chord spans, and a little more."""
    return 2.0 * math.asin(min(1.0, math.sqrt(chord_squared) / 2.0)) + 1e-12


@njit(cache=True)
def metres_angle(length: float, width: float) -> float:
    """The angle from the centre of a rectangle of so many metres to its corners."""
    return min(math.sqrt(length * length + width * width) / 2.0 / EARTH_METRES, math.pi)


@njit(cache=True)
def longitudes(x: float, half: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The spans of longitude within `half` degrees of a meridian; the second is empty unless they cross the 180th."""
    if half >= 180.0:
        return (-180.0, 180.0), (1.0, -1.0)
    if x - half <= -180.0:
        return (-180.0, x + half), (x - half + 360.0, 180.0)
    if x + half > 180.0:
        return (x - half, 180.0), (-180.0, x + half - 360.0)
    return (x - half, x + half), (1.0, -1.0)
