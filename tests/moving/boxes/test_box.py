"""The box of moving queries: the same however its streams are cut, after restarts, and as the definition says."""

from __future__ import annotations

from typing import Any

import pytest

from arterial.errors import NetworkError
from arterial.moving.boxes.moving_queries import MovingQueries
from arterial.moving.boxes.moving_queries_meaning import moving_queries
from arterial.moving.queries.events import Drop, Register, Report
from arterial.moving.queries.query_columns import QUERY_SCHEMA, row_of
from arterial.moving.queries.space import Space
from arterial.network.box import Stream
from arterial.network.schema import Field, Schema, Type
from arterial.testing import check_box
from tests.moving.worlds import random_world

Rows = list[dict[str, Any]]


def streams(kind: Type = Type.STRING) -> dict[str, Stream]:
    objects = Schema.of({"t": "int64", "object": kind, "x": "float64", "y": "float64"})
    columns = [Field("t", Type.INT64)] + [Field(name, type_) for name, type_ in QUERY_SCHEMA.items()]
    columns = [Field(field.name, kind) if field.name == "focal" else field for field in columns]
    return {"objects": Stream(objects, "t"), "queries": Stream(Schema(tuple(columns)), "t")}


def inputs(seed: int, space: Space = Space.PLANE) -> dict[str, Rows]:
    objects: Rows = []
    queries: Rows = []
    for t, events in random_world(seed, space=space, units=12):
        for event in events:
            match event:
                case Report():
                    objects.append({"t": int(t), "object": str(event.object), "x": event.x, "y": event.y})
                case Register():
                    queries.append({"t": int(t), "query": str(event.name)} | row_of(event.query))
                case Drop():
                    queries.append({"t": int(t), "query": str(event.name), "kind": "drop"})
    return {"objects": objects, "queries": [dict.fromkeys(QUERY_SCHEMA) | row for row in queries]}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("timeout", [None, 3.0])
def test_it_means_what_the_definition_says(seed: int, timeout: float | None) -> None:
    space = list(Space)[seed % 2]
    box = MovingQueries("q", lonlat=space is Space.LONLAT, timeout=timeout)
    check_box(box, inputs(seed, space), streams(), meaning=moving_queries, seed=seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_with_a_smaller_cache_it_is_the_same_in_any_cut(seed: int) -> None:
    check_box(MovingQueries("q", cache=25.0, timeout=4.0), inputs(seed), streams(), seed=seed)


def test_what_is_no_position_or_query_is_told() -> None:
    none = dict.fromkeys(QUERY_SCHEMA)
    rows: dict[str, Rows] = {
        "objects": [
            {"t": 1, "object": 1, "x": 0.0, "y": 0.0},
            {"t": 2, "object": None, "x": 0.0, "y": 0.0},
            {"t": 3, "object": 2, "x": None, "y": 0.0},
            {"t": 4, "object": 2, "x": float("nan"), "y": 0.0},
        ],
        "queries": [
            none | {"t": 1, "query": "a", "kind": "movingknn", "k": 0, "focal": 1},
            none | {"t": 1, "query": "b", "kind": "circle"},
            none | {"t": 3, "query": "c", "kind": "knn", "k": 1, "x1": 0.0, "y1": None},
            none | {"t": 3, "query": "d", "kind": "drop"},
            none | {"t": 3, "query": None, "kind": "drop"},
            none | {"t": 3, "query": "e", "kind": "movingrange", "x1": -1.0, "y1": 1.0, "focal": 1},
            none | {"t": 4, "query": "f", "kind": "movingknn", "k": 1},
            none | {"t": 5, "query": "g", "kind": "knn", "k": 1, "x1": 0.0, "y1": 0.0},
        ],
    }
    check_box(MovingQueries("q"), rows, streams(Type.INT64), meaning=moving_queries)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"object": "x"}, "must be integers or strings"),
        ({"x": "object"}, "must be a number"),
        ({"cache": 101.0}, "0 to 100"),
        ({"timeout": 0.0}, "more than 0"),
    ],
)
def test_mistakes(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        check_box(MovingQueries("q", **settings), inputs(0), streams())
