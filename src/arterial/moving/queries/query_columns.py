"""A query as a row of columns: how queries come on a stream, and how they are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from arterial.errors import NetworkError
from arterial.moving.queries.events import Drop, MovingNearest, MovingRange, Nearest, Query, Range, Register
from arterial.moving.queries.ids import Id, parsed_id
from arterial.network.schema import Schema, Type

QUERY_SCHEMA = {
    "query": Type.STRING,
    "kind": Type.STRING,
    "focal": Type.STRING,
    "k": Type.INT64,
    "x1": Type.FLOAT64,
    "y1": Type.FLOAT64,
    "x2": Type.FLOAT64,
    "y2": Type.FLOAT64,
}
"""The columns of a stream of queries; `query` and `focal` may be integers. xdist and ydist are x1 and y1.

`kind` is range, movingrange, knn, movingknn or drop; columns that it has no use for are null.
"""

_COORDINATES = {"range": ("x1", "y1", "x2", "y2"), "movingrange": ("x1", "y1"), "knn": ("x1", "y1"), "movingknn": ()}


def check_positions(schema: Schema, object: str, x: str, y: str) -> Type:
    """Raise unless these columns can be an object's id and its coordinates; the type of the id."""
    kind = schema[object]
    if not (kind.is_integer or kind is Type.STRING):
        raise NetworkError(f"the objects' ids {object!r} must be integers or strings, got {kind}")
    for axis in (x, y):
        if not schema[axis].is_number:
            raise NetworkError(f"the coordinate {axis!r} must be a number, got {schema[axis]}")
    return kind


def event_of(t: float, row: Mapping[str, Any], *, lonlat: bool) -> Register | Drop | str:
    """The event that a row is, or why it is none."""
    name, kind = _id(row["query"]), row["kind"]
    if name is None:
        return "the query has no name"
    if kind == "drop":
        return Drop(t, name)
    if kind not in _COORDINATES:
        return f"the kind must be one of {', '.join(_COORDINATES)}, drop, not {kind!r}"
    numbers = [row[column] for column in _COORDINATES[kind]]
    for column, number in zip(_COORDINATES[kind], numbers, strict=True):
        if number is None or not math.isfinite(number):
            return f"{column} of {kind} must be a number, not {number}"
    if kind == "movingrange" and min(numbers) < 0:
        return "xdist and ydist must not be negative"
    if lonlat and kind != "movingrange":
        beyond = any(not -180 <= x <= 360 for x in numbers[::2]) or any(not -90 <= y <= 90 for y in numbers[1::2])
        if beyond:
            return "longitude must be in -180 … 360 and latitude in -90 … 90"
    k, focal = row["k"], _id(row["focal"])
    if kind.endswith("knn") and (k is None or k < 1 or k != int(k)):
        return f"k must be a whole number from 1, not {k}"
    if kind.startswith("moving") and focal is None:
        return f"a {kind} needs a focal object"
    return Register(t, name, _query(kind, [float(number) for number in numbers], k, focal))


def row_of(query: Query) -> dict[str, Any]:
    """The columns of a query, but its name."""
    blank: dict[str, Any] = dict.fromkeys(("focal", "k", "x1", "y1", "x2", "y2"))
    match query:
        case Range():
            return blank | {"kind": "range", "x1": query.x1, "y1": query.y1, "x2": query.x2, "y2": query.y2}
        case MovingRange():
            return blank | {"kind": "movingrange", "focal": str(query.focal), "x1": query.xdist, "y1": query.ydist}
        case Nearest():
            return blank | {"kind": "knn", "k": query.k, "x1": query.x, "y1": query.y}
        case MovingNearest():
            return blank | {"kind": "movingknn", "focal": str(query.focal), "k": query.k}


def _query(kind: str, numbers: list[float], k: int | None, focal: Id | None) -> Query:
    if kind == "range":
        return Range(*numbers)
    if kind == "knn":
        return Nearest(int(k or 0), *numbers)
    assert focal is not None
    return MovingRange(focal, *numbers) if kind == "movingrange" else MovingNearest(int(k or 0), focal)


def _id(value: object) -> Id | None:
    return value if value is None or isinstance(value, int) else parsed_id(str(value))
