"""Fences as arrays for the kernels: those that stand still with a grid over them, and those that move."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.moving.boxes.fences_kernels import CIRCLE, NOTHING, POLYGON, RECTANGLE
from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.queries.fences import Circle, MovingCircle, Polygon, Shape, reach_squared
from arterial.moving.queries.space import EARTH_METRES, Space, degrees_around, unit_vector, wrap_longitude

_MOVING_CIRCLE, _MOVING_RECTANGLE = 4, 5
"""The kinds of fences that move, beside those that the kernels know."""

_MOST_CELLS = 512
_HAIR = 1e-9
"""Degrees by which a fence reaches further in the grid than it is, so that rounding leaves nothing out."""


@dataclass(frozen=True)
class _Rows:
    """A row for each fence, in the order of their names."""

    names: pl.Series
    kinds: Array
    numbers: Array
    bounds: Array
    """West, south, east, north; of a fence that has no place, not a number."""
    edge_counts: Array
    edges: Array
    """The edges of all of them."""
    focals: Array
    """The object that a fence moves with, or None."""
    sizes: Array

    @classmethod
    def of(cls, shapes: Mapping[str, Shape | None], space: Space) -> _Rows:
        names = sorted(shapes)
        kinds = np.full(len(names), NOTHING, np.int64)
        numbers, bounds = np.zeros((len(names), 4)), np.full((len(names), 4), np.nan)
        counts, sizes = np.zeros(len(names), np.int64), np.zeros((len(names), 2))
        focals: Array = np.full(len(names), None, np.object_)
        edges: list[tuple[float, float, float, float]] = []
        for at, name in enumerate(names):
            match shapes[name]:
                case Circle() as shape:
                    kinds[at] = CIRCLE
                    numbers[at], bounds[at] = _circle(shape, space)
                case Range() as shape:
                    kinds[at] = RECTANGLE
                    numbers[at] = bounds[at] = _rectangle(shape, space)
                case Polygon() as shape:
                    kinds[at] = POLYGON
                    numbers[at] = bounds[at] = shape.bounds
                    before = len(edges)
                    edges += [(*a, *b) for a, b in shape.edges]
                    counts[at] = len(edges) - before
                case MovingCircle() as shape:
                    kinds[at], focals[at] = _MOVING_CIRCLE, shape.focal
                    sizes[at] = reach_squared(space, shape.radius), 0.0
                case MovingRange() as shape:
                    kinds[at], focals[at] = _MOVING_RECTANGLE, shape.focal
                    sizes[at] = shape.xdist, shape.ydist
        ends = np.array(edges, np.float64).reshape(len(edges), 4)
        return cls(pl.Series(names, dtype=pl.String()), kinds, numbers, bounds, counts, ends, focals, sizes)

    def changed(self, others: _Rows) -> _Rows:
        """With other rows, which take the place of those with their names; fences without a shape are left out."""
        kept = ~self.names.is_in(others.names.implode()).to_numpy() & (self.kinds != NOTHING)
        names = pl.concat([self.names.filter(pl.Series(kept)), others.names])
        order = names.arg_sort().to_numpy()
        numbers = np.concatenate([np.flatnonzero(kept), len(kept) + np.arange(len(others.names))])[order]
        counts = np.concatenate([self.edge_counts, others.edge_counts])
        begins, many = np.cumsum(counts) - counts, counts[numbers]
        edges = np.arange(many.sum()) + np.repeat(begins[numbers] - np.cumsum(many) + many, many)

        def both(own: Array, of_others: Array) -> Array:
            column: Array = np.concatenate([own, of_others])[numbers]
            return column

        return _Rows(
            names[order],
            both(self.kinds, others.kinds),
            both(self.numbers, others.numbers),
            both(self.bounds, others.bounds),
            many,
            np.concatenate([self.edges, others.edges])[edges],
            both(self.focals, others.focals),
            both(self.sizes, others.sizes),
        )


@dataclass(frozen=True)
class Index:
    """All fences by number, in the order of their names, as the kernels want them."""

    rows: _Rows
    space: Space
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
        return cls._made(_Rows.of(shapes, space), space)

    @classmethod
    def _made(cls, rows: _Rows, space: Space) -> Index:
        moves = rows.kinds >= _MOVING_CIRCLE
        standing, moving = np.flatnonzero(~moves), np.flatnonzero(moves)
        ends = np.append(0, np.cumsum(rows.edge_counts[standing]))
        grid, starts, cells = _grid(rows.bounds[standing], space)
        fixed = (grid, starts, cells, rows.kinds[standing], rows.numbers[standing], ends, rows.edges)
        focals = tuple(rows.focals[moving].tolist())
        circles = rows.kinds[moving] == _MOVING_CIRCLE
        return cls(rows, space, standing, moving, fixed, focals, circles, rows.sizes[moving])

    @property
    def names(self) -> pl.Series:
        """The names, in order."""
        return self.rows.names

    def changed(self, shapes: Mapping[str, Shape | None]) -> Index:
        """With other shapes for some fences; those that had none any more are left out."""
        return self._made(self.rows.changed(_Rows.of(shapes, self.space)), self.space)

    def near(self, names: Collection[str], xs: Array, ys: Array) -> Array:
        """Which places lie within the bounds of one of these fences, as far as they stand still."""
        found = np.zeros(len(xs), np.bool_)
        chosen = self.names.is_in(list(names)).to_numpy() & ~np.isnan(self.rows.bounds[:, 0])
        west, south, east, north = self.rows.bounds[chosen].T
        if self.space is Space.LONLAT and chosen.any():
            _, west, south, east, north = _unrolled(np.flatnonzero(chosen), west, south, east, north)
            south, north = south - _HAIR, north + _HAIR
            xs = (xs + 180.0) % 360.0 - 180.0
        for low_x, low_y, high_x, high_y in zip(west, south, east, north, strict=True):
            found |= (xs >= low_x) & (xs <= high_x) & (ys >= low_y) & (ys <= high_y)
        return found


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
    pairs = np.sort(cell * (int(fences.max()) + 1) + fences[which])  # in the order of cells, then of fences
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]  # numpy's `unique` takes ten times as long
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
