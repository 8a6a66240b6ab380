"""Texts of queries, and what they say."""

from __future__ import annotations

import pytest

from arterial.sql.text.characters import plain
from arterial.sql.text.parse import parse_query
from arterial.sql.text.query import Inside, MovingRegion, Named, Nearest, NearestTo, NearestToMoving, Region

HEAD = "SELECT ObjectID FROM MovingObjects "


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("GPAC-IN (0, 10, 20, 5)", Region(0, 10, 20, 5)),
        ("gpac-in(-1.5,+2e3,.5,-0)", Region(-1.5, 2000, 0.5, 0)),
        ("GPAC_IN ('M', 7, 10, 20.5)", MovingRegion(7, 10, 20.5)),
        ("GPAC-IN (M, 'amb 1', 0, 0)", MovingRegion("amb 1", 0, 0)),
        ('GPAC-IN ("m", -7, 1, 1)', MovingRegion(-7, 1, 1)),
        ("GPAC - IN (’M’, ambulance, 1, 1)", MovingRegion("ambulance", 1, 1)),
        ("GPAC-IN ((‘M’), 1, 1, 1)", None),
        ("GPAC-IN MyArea", Named("MyArea")),
        ("GPAC–kNN (3, −1, 2)", NearestTo(3, -1, 2)),
        ("GPAC-KNN (“M”, 3, 7)", NearestToMoving(3, 7)),
        ("gpac_knn ('m', 3, '007')", NearestToMoving(3, "007")),
    ],
)
def test_forms(clause: str, expected: Inside | Nearest | Named | None) -> None:
    if expected is None:
        with pytest.raises(Exception, match="expected"):
            parse_query(HEAD + clause)
        return
    query = parse_query(HEAD + clause)
    found = query.inside or query.nearest
    assert found is not None
    assert found.what == expected
    assert query.text[found.place.start : found.place.end] == clause


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, count(*) FROM S WHERE b > 1 GROUP BY a GPAC-IN (1, 2, 3, 4) GPAC-kNN (5, 6, 7)",
        "SELECT a, count(*) FROM S WHERE b > 1 GPAC-kNN (5, 6, 7) GPAC-IN (1, 2, 3, 4) GROUP BY a;",
        "SELECT a, count(*) FROM S GPAC-IN (1, 2, 3, 4) WHERE b > 1 GROUP BY a\nGPAC-KNN (5, 6, 7)",
        "select a , count(*)\nfrom S\nwhere b > 1 -- some\ngpac-knn (5, 6, 7)\ngpac-in (1, 2, /* */ 3, 4)\ngroup by a",
    ],
)
def test_clauses_in_any_order(text: str) -> None:
    query = parse_query(text)
    assert query.inside is not None
    assert query.nearest is not None
    assert (query.inside.what, query.nearest.what) == (Region(1, 2, 3, 4), NearestTo(5, 6, 7))
    assert [part.sql(comments=False) for part in query.conditions] == ["b > 1"]
    assert [part.sql() for part in query.groups] == ["a"]
    assert len(query.items) == 2


def test_a_name_inside_a_text_is_no_clause() -> None:
    query = parse_query("SELECT a FROM S WHERE a = 'GPAC-IN (1)' AND \"GPAC-IN\" = 1")
    assert query.inside is None
    assert len(query.conditions) == 2


def test_joins() -> None:
    query = parse_query("SELECT M.a FROM S AS M JOIN T F ON M.a = F.a AND F.b > 1, U WHERE (U.c = F.c AND M.d = 2)")
    assert [(one.name, one.alias) for one in query.relations] == [("S", "M"), ("T", "F"), ("U", "U")]
    assert [part.sql(comments=False) for part in query.conditions] == ["M.a = F.a", "F.b > 1", "U.c = F.c", "M.d = 2"]


def test_plain_characters_keep_their_places() -> None:
    text = "SELECT\u00a0a FROM S WHERE b = ‘it–s’ AND c = \"d\" AND e = 'f''s' -- ‘"
    assert len(plain(text)) == len(text)
    assert plain(text) == "SELECT a FROM S WHERE b = 'it–s' AND c = \"d\" AND e = 'f''s' -- ‘"
