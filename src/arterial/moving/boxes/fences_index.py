"""Fences as arrays for the kernels: those that stand still with a grid over them, and those that move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.moving.boxes.fences_kernels import CIRCLE, NOTHING, POLYGON, RECTANGLE
from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.fences import Circle, Fixed, MovingCircle, Polygon, Shape, reach_squared
from arterial.moving.queries.space import EARTH_METRES, Space, degrees_around, unit_vector, wrap_longitude

_MOST_CELLS = 512
_HAIR = 1e-9
"""Degrees by which a fence reaches further in the grid than it is, so that rounding leaves nothing out."""


@dataclass(frozen=True)
class Index:
    """All fences by number, in the order of their names, as the kernels want them."""

    names: pl.Series
    standing: Array
    """The numbers of the fences that stand still."""
    moving: Array
    """The numbers of those that move."""
    fixed: tuple[Array, ...]
    """Grid, begin of each cell, fences of the cells, kinds, numbers, ends of edges, edges."""
    focals: tuple[int | str, ...]
    circles: Array
    sizes: Array

    @classmethod
    def of(cls, shapes: Mapping[str, Shape | None], space: Space) -> Index:
        """The index of named shapes; None is a fence that nothing is inside of."""
        names = sorted(shapes)
        listed = [shapes[name] for name in names]
        moves = np.array([isinstance(shape, MovingCircle | MovingRange) for shape in listed], np.bool_)
        moving = [shape for shape in listed if isinstance(shape, MovingCircle | MovingRange)]
        fixed = [shape for shape in listed if not isinstance(shape, MovingCircle | MovingRange)]
        sizes = [
            (reach_squared(space, one.radius), 0.0) if isinstance(one, MovingCircle) else (one.xdist, one.ydist)
            for one in moving
        ]
        return cls(
            pl.Series(names, dtype=pl.String()),
            np.flatnonzero(~moves),
            np.flatnonzero(moves),
            _fixed(fixed, space),
            tuple(one.focal for one in moving),
            np.array([isinstance(one, MovingCircle) for one in moving], np.bool_),
            np.array(sizes, np.float64).reshape(len(moving), 2),
        )


def _fixed(shapes: Sequence[Fixed | None], space: Space) -> tuple[Array, ...]:
    kinds = np.full(len(shapes), NOTHING, np.int64)
    numbers, bounds = np.zeros((len(shapes), 4)), np.full((len(shapes), 4), np.nan)
    edges: list[tuple[float, float, float, float]] = []
    ends = np.zeros(len(shapes) + 1, np.int64)
    for at, shape in enumerate(shapes):
        if isinstance(shape, Circle):
            kinds[at] = CIRCLE
            numbers[at], bounds[at] = _circle(shape, space)
        elif isinstance(shape, Range):
            kinds[at] = RECTANGLE
            numbers[at] = bounds[at] = _rectangle(shape, space)
        elif isinstance(shape, Polygon):
            kinds[at] = POLYGON
            numbers[at] = bounds[at] = shape.bounds
            edges += [(*a, *b) for a, b in shape.edges]
        ends[at + 1] = len(edges)
    grid, starts, cells = _grid(bounds, space)
    return grid, starts, cells, kinds, numbers, ends, np.array(edges, np.float64).reshape(len(edges), 4)


def _circle(shape: Circle, space: Space) -> tuple[Sequence[float], Sequence[float]]:
    """Centre and reach, and the bounds: west, south, east, north."""
    x, y, radius = shape.x, shape.y, shape.radius
    reach = reach_squared(space, radius)
    if space is Space.PLANE:
        far = math.nextafter(radius, math.inf) * (1.0 + _HAIR)  # the squares round, so the circle may be a hair larger
        return (x, y, reach, reach), (x - far, y - far, x + far, y + far)
    half, south, north = degrees_around(y, min(radius / EARTH_METRES, math.pi))
    return (*unit_vector(wrap_longitude(x), y), reach), (x - half, south, x + half, north)


def _rectangle(shape: Range, space: Space) -> Sequence[float]:
    south, north = min(shape.y1, shape.y2), max(shape.y1, shape.y2)
    if space is Space.PLANE:
        return min(shape.x1, shape.x2), south, max(shape.x1, shape.x2), north
    if shape.x2 - shape.x1 >= 360.0:
        return -180.0, south, 180.0, north
    return wrap_longitude(shape.x1), south, wrap_longitude(shape.x2), north


def _grid(bounds: Array, space: Space) -> tuple[Array, Array, Array]:
    """Cells over all bounds, and the fences of each cell in order."""
    fences = np.flatnonzero(~np.isnan(bounds[:, 0]))
    if not len(fences):
        return np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0]), np.zeros(2, np.int64), np.zeros(0, np.int64)
    west, south, east, north = bounds[fences].T
    if space is Space.LONLAT:
        fences, west, south, east, north = _unrolled(fences, west, south, east, north)
    low_x, high_x = (-180.0, 180.0) if space is Space.LONLAT else (west.min(), east.max())
    low_y, high_y = south.min(), north.max()
    across = int(min(max(2 * math.sqrt(len(fences)), 1), _MOST_CELLS))
    while True:
        scales = [across / width if 0.0 < (width := high - low) < math.inf else 0.0
                  for low, high in ((low_x, high_x), (low_y, high_y))]  # fmt: skip
        columns, rows = (
            np.clip(((np.stack(pair) - low) * scale).astype(np.int64), 0, across - 1)
            for pair, low, scale in (((west, east), low_x, scales[0]), ((south, north), low_y, scales[1]))
        )
        wide, counts = columns[1] - columns[0] + 1, (columns[1] - columns[0] + 1) * (rows[1] - rows[0] + 1)
        if across == 1 or counts.sum() <= 64 * len(fences) + 65_536:
            break
        across //= 2
    which = np.repeat(np.arange(len(fences)), counts)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    cell = (rows[0][which] + offset // wide[which]) * across + columns[0][which] + offset % wide[which]
    pairs = np.unique(cell * (int(fences.max()) + 1) + fences[which])  # in the order of cells, then of fences
    cell, members = np.divmod(pairs, int(fences.max()) + 1)
    starts = np.searchsorted(cell, np.arange(across * across + 1))
    return np.array([low_x, low_y, *scales, across, across]), starts, members


def _unrolled(fences: Array, west: Array, south: Array, east: Array, north: Array) -> tuple[Array, ...]:
    """The bounds in longitudes from -180 to 180; those across the meridian become two."""
    span = np.where(east >= west, east - west, east - west + 360.0) + 2 * _HAIR
    begin = (west - _HAIR + 180.0) % 360.0 - 180.0
    begin = np.where(span >= 360.0, -180.0, begin)
    end = begin + np.minimum(span, 360.0)
    over = end > 180.0
    return (
        np.concatenate([fences, fences[over]]),
        np.concatenate([begin, np.full(int(over.sum()), -180.0)]),
        np.concatenate([south, south[over]]),
        np.concatenate([np.minimum(end, 180.0), end[over] - 360.0]),
        np.concatenate([north, north[over]]),
    )
