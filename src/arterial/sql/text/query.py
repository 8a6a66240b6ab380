"""A query as it was written: what each clause says and where it stands. Names are not looked up yet."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from arterial.sql.text.mistake import Place


@dataclass(frozen=True)
class Region:
    """`GPAC-IN (x1, y1, x2, y2)`: a rectangle by two opposite corners."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class MovingRegion:
    """`GPAC-IN ('M', ID, xdist, ydist)`: a rectangle of that length and width about the focal object."""

    focal: int | str
    length: float
    width: float


@dataclass(frozen=True)
class NearestTo:
    """`GPAC-kNN (k, x, y)`: the k objects nearest to a point."""

    k: int
    x: float
    y: float


@dataclass(frozen=True)
class NearestToMoving:
    """`GPAC-kNN ('M', k, ID)`: the k objects nearest to the focal object."""

    k: int
    focal: int | str


Inside = Region | MovingRegion
Nearest = NearestTo | NearestToMoving


@dataclass(frozen=True)
class Named:
    """`GPAC-IN MyArea`: arguments that the catalog has under a name."""

    name: str


@dataclass(frozen=True)
class Clause:
    """A GPAC clause: what it asks for, and where it stands."""

    what: Inside | Nearest | Named
    place: Place
    focal: Place | None = None


@dataclass(frozen=True)
class Item:
    """What SELECT lists: an expression, and its name if it was given one with AS."""

    expression: exp.Expression
    name: str | None
    place: Place


@dataclass(frozen=True)
class Window:
    """`TUMBLE(time, every)`, `HOP(time, every, over)` or `SESSION(time, gap)` in GROUP BY; behind a stream, in FROM."""

    kind: str
    time: exp.Expression
    durations: tuple[str | int | float, ...]
    place: Place
    key: tuple[exp.Expression, ...] = ()
    """Of SESSION in FROM: the columns whose rows have sessions of their own."""


@dataclass(frozen=True)
class From:
    """A stream or table of FROM, and the name that the rest of the query calls it by.

    With a window, as `TUMBLE(name, time, every)`, its rows have `window_start` and `window_end` too.
    """

    name: str
    alias: str
    place: Place
    window: Window | None = None


@dataclass(frozen=True)
class Order:
    """`ORDER BY expression [DESC] LIMIT k`: the first k rows of each window, or of all at each instant."""

    expression: exp.Expression
    descending: bool
    limit: int
    place: Place


@dataclass(frozen=True)
class Query:
    """`SELECT [DISTINCT] items FROM relations WHERE conditions GROUP BY groups HAVING having GPAC-IN GPAC-kNN`.

    The conditions are those of WHERE and of all ON, cut at each AND; all of them must hold.
    """

    text: str
    items: tuple[Item, ...]
    distinct: bool
    relations: tuple[From, ...]
    conditions: tuple[exp.Expression, ...]
    groups: tuple[exp.Expression, ...]
    grouped: bool
    having: exp.Expression | None
    inside: Clause | None
    nearest: Clause | None
    window: Window | None = None
    order: Order | None = None

    @property
    def windowed(self) -> bool:
        """Whether it has windows, in GROUP BY or in FROM."""
        return self.window is not None or any(one.window is not None for one in self.relations)
