"""What happens to moving objects and their queries, as values, and the changes of answers that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from arterial.moving.queries.ids import Id


class Sign(Enum):
    """An object joins an answer, or leaves it (§3.1)."""

    POSITIVE = "+"
    NEGATIVE = "-"


@dataclass(frozen=True)
class Update:
    """At time `t`, the object joined or left the answer of the query."""

    t: float
    query: Id
    sign: Sign
    object: Id


@dataclass(frozen=True)
class Range:
    """All objects in a rectangle; two opposite corners, edges included.

    On longitude and latitude x1 is the western side and x2 the eastern, so x1 > x2 crosses the 180th meridian.
    """

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class MovingRange:
    """All objects in the rectangle, of full length `xdist` and width `ydist`, that is centred on the focal object."""

    focal: Id
    xdist: float
    ydist: float


@dataclass(frozen=True)
class Nearest:
    """The k objects nearest to a point; equal distances go to the smaller id."""

    k: int
    x: float
    y: float


@dataclass(frozen=True)
class MovingNearest:
    """The k objects nearest to the focal object, which is not one of them."""

    k: int
    focal: Id


Query = Range | MovingRange | Nearest | MovingNearest


@dataclass(frozen=True)
class Report:
    """An object is at x, y."""

    t: float
    object: Id
    x: float
    y: float


@dataclass(frozen=True)
class Register:
    """A query begins; one of the same name that runs already is replaced."""

    t: float
    name: Id
    query: Query


@dataclass(frozen=True)
class Drop:
    """A query ends; its answer is withdrawn."""

    t: float
    name: Id


Event = Report | Register | Drop
