"""Mistakes in the text of a query: what is said, and where."""

from __future__ import annotations

import pytest

from arterial.sql.catalog import Catalog, StreamEntry, TableEntry
from arterial.sql.checked import check_query
from arterial.sql.text.mistake import SqlError
from arterial.sql.text.parse import parse_query

CATALOG = Catalog(
    {
        "MovingObjects": StreamEntry.of(
            {"t": int, "ObjectID": int, "x": float, "y": float, "type": str, "speed": int, "lorry": str}
        ),
        "Cars": TableEntry.of({"ObjectID": int, "owner": str}),
        "Weather": StreamEntry.of({"time": "timestamp", "rain": float}),
        "Signals": StreamEntry.of({"time": int, "state": str}),
    },
    {"MyArea": "'M', 7, 10, 20", "Wrong": "1, 2, 3"},
)


def mistake(text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        check_query(parse_query(text.replace("»", "").replace("«", "")), CATALOG)
    return caught.value


@pytest.mark.parametrize(
    ("text", "what"),
    [
        # The place that is meant stands between » and «.
        ("»«", "the query is empty"),
        ("»SELEC« ObjectID FROM MovingObjects", "expected SELECT, got 'SELEC'"),
        ("SELECT ObjectID»«", "expected FROM"),
        ("SELECT ObjectID »WHERE« x > 1", "expected FROM"),
        ("SELECT »FROM« MovingObjects", "expected what to select"),
        ("SELECT ObjectID FROM»«", "expected the name of a stream or table"),
        ("SELECT ObjectID FROM MovingObjects WHERE»« GPAC-IN (1, 2, 3, 4)", None),
        ("SELECT ObjectID FROM MovingObjects WHERE»«", "expected an expression"),
        ("SELECT ObjectID b »c« FROM MovingObjects", "did not expect 'c' here"),
        ("SELECT ObjectID,\n  x FROM MovingObjects\nWHERE x == »=« 2", "expected an expression"),
        ("SELECT ObjectID FROM MovingObjects WHERE (x = 1 »)« )", None),
        ("SELECT ObjectID FROM MovingObjects »ORDER BY« x", "expected LIMIT too"),
        ("SELECT ObjectID FROM MovingObjects »LIMIT« 5", "expected ORDER BY too"),
        ("SELECT ObjectID FROM MovingObjects M »LEFT« JOIN Cars ON M.ObjectID = Cars.ObjectID", "outer join"),
        ("SELECT ObjectID FROM (»SELECT« x FROM MovingObjects)", "a query inside a query"),
        ("SELECT ObjectID FROM MovingObjects»;« SELECT 1", "expected one query"),
        ("SELECT ObjectID FROM MovingObjects GROUP BY»«", "expected what to group by"),
        ("SELECT ObjectID FROM MovingObjects WHERE type = »'«truck", "this quote is not closed"),
        ("SELECT ObjectID FROM MovingObjects »/*« all", "this comment has no end"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-IN (1, 2, 3)«", "has 3 arguments here, expected 4"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-IN ('M', 7, 3)«", r"expected 4: GPAC-IN \('M', ID, xdist, ydist\)"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-kNN (1, 2, 3, 4)«", "has 4 arguments here, expected 3"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-IN ()«", "no arguments"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-IN (1,,2,3)«", "argument 2 of GPAC-IN is empty"),
        ("SELECT ObjectID FROM MovingObjects GPAC-IN (1, 2, 3, »'4'«)", "y2 of GPAC-IN: expected a number, got '4'"),
        ("SELECT ObjectID FROM MovingObjects GPAC-IN (1, »2 + 2«, 3, 4)", "y1 of GPAC-IN: expected a number"),
        ("SELECT ObjectID FROM MovingObjects GPAC-IN (1, »1e999«, 3, 4)", "y1 of GPAC-IN: expected a number"),
        ("SELECT ObjectID FROM MovingObjects GPAC-IN ('M', 3, »-1«, 2)", "xdist of GPAC-IN: expected a distance"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN (»0«, 2, 3)", "k of GPAC-kNN: expected a whole number"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN ('M', »2.5«, 3)", "k of GPAC-kNN: expected a whole number"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN ('M', 2, »3.5«)", "ID of GPAC-kNN"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN ('M', 2, »'ann'«)", "expected a whole number as ID, got 'ann'"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN (2, 3»«", "not closed"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN »2«, 3, 4", "expected [(] after GPAC-kNN"),
        ("SELECT ObjectID FROM MovingObjects GPAC-kNN»«", "the text ends here"),
        ("SELECT ObjectID FROM MovingObjects »GPAC-NN« (2, 3, 4)", "expected GPAC-IN or GPAC-kNN, got 'GPAC-NN'"),
        ("SELECT x FROM MovingObjects GPAC-IN MyArea\n»GPAC-IN (1, 2, 3, 4)«", "a second time"),
        ("SELECT x. »FROM« MovingObjects", "expected FROM"),
        ("SELECT x »GPAC-IN MyArea« FROM MovingObjects", "stands after FROM and WHERE"),
        ("SELECT x FROM MovingObjects »GPAC-IN Area51«", "there is no area 'Area51'; known: MyArea, Wrong"),
        ("SELECT x FROM Signals »GPAC-IN MyArea«", "Signals has no column for object, x, y"),
        ("SELECT »a« FROM MovingObjects", "there is no column 'a' in MovingObjects"),
        ("SELECT m.»typo« FROM MovingObjects M", "did you mean 'type'"),
        ("SELECT »Z«.type FROM MovingObjects M", "no stream or table in FROM is called 'Z'"),
        ("SELECT type FROM »MovingObject«", "did you mean 'MovingObjects'"),
        ("SELECT x FROM MovingObjects, »Cars MovingObjects«", "two streams are called 'MovingObjects'"),
        ("SELECT »ObjectID« FROM MovingObjects M, Cars C", "write M.ObjectID or C.ObjectID"),
        ("SELECT owner FROM »Cars«", "tables only"),
        ("SELECT 1 FROM MovingObjects, »Weather«", "count time differently"),
        ("SELECT »type«, count(*) FROM MovingObjects", "neither grouped nor inside an aggregate; add GROUP BY"),
        ("SELECT max(x) - »speed« FROM MovingObjects GROUP BY type", "add it to GROUP BY"),
        ("SELECT type FROM MovingObjects GROUP BY type HAVING »speed« > 3", "add it to GROUP BY"),
        ("SELECT type FROM MovingObjects GROUP BY »max(x)«", "cannot hold an aggregate"),
        ("SELECT type FROM MovingObjects GROUP BY »1«", "got a constant"),
        ("SELECT 1 FROM MovingObjects WHERE »count(*)« > 3", "belongs in HAVING"),
        ("SELECT »stddev(speed)« FROM MovingObjects", "expected one of count, sum, avg, min, max"),
        ("SELECT sum(»DISTINCT speed«) FROM MovingObjects", None),
        ("SELECT max(»max(speed)«) FROM MovingObjects", "inside another"),
        ("SELECT »speed + type« FROM MovingObjects", "needs numbers, got string"),
        ("SELECT x FROM MovingObjects WHERE »speed«", "expected a condition, got a value of type int64"),
        ("SELECT x FROM MovingObjects WHERE x > 1 AND\n »lower(speed)« = 'a'", "expected text, got int64"),
        ("SELECT x FROM MovingObjects WHERE »type = 3«", "values of one type, got string, int64"),
        ("SELECT x, »null« FROM MovingObjects", None),
        ("SELECT »wheels(x)« FROM MovingObjects", "there is no function"),
        ("SELECT x FROM MovingObjects WHERE type = »truck«", "if it is a text, write 'truck'"),
        ("SELECT x FROM MovingObjects WHERE »\"tpye\"« = 'truck'", "did you mean 'type'"),
        ("SELECT »\"truck\"« FROM MovingObjects", "there is no column 'truck'"),
        ("SELECT x a, »speed« a FROM MovingObjects", "two columns are named 'a'"),
        ("SELECT »x« AS sign FROM MovingObjects", "the answer has a column 'sign' already"),
    ],
)  # fmt: skip
def test_place_and_message(text: str, what: str | None) -> None:
    if what is None:
        return
    before, _, rest = text.partition("»")
    meant = rest.partition("«")[0]
    error = mistake(text)
    assert what.split("[")[0].split("\\")[0] in str(error)
    assert (error.line, error.column) == (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1), error
    carets = str(error).splitlines()[-1].strip()
    assert carets == "^" * max(1, len(meant)), error


def test_the_line_is_shown() -> None:
    assert str(mistake("SELECT x,\n\tspede\nFROM MovingObjects")) == (
        "line 2, column 2: there is no column 'spede' in MovingObjects; did you mean 'speed'? "
        "It has: t, ObjectID, x, y, type, speed, lorry\n  \tspede\n  \t^^^^^"
    )


def test_an_area_that_is_wrong() -> None:
    assert "GPAC-IN has 3 arguments here" in str(mistake("SELECT x FROM MovingObjects GPAC-IN Wrong"))


def test_double_quotes() -> None:
    def conditions(text: str) -> list[str]:
        return [one.text for one in check_query(parse_query(text), CATALOG).conditions]

    head = "SELECT x FROM MovingObjects M WHERE "
    assert conditions(head + 'M.type = "truck"') == ["\"type\" = 'truck'"]
    assert conditions(head + '"truck" <> type') == ["'truck' <> \"type\""]
    assert conditions(head + '"type" = "truck"') == ["\"type\" = 'truck'"]
    assert conditions(head + 'type IN ("truck", "car")') == ["\"type\" IN ('truck', 'car')"]
    assert conditions(head + 'M.type = "lorry"') == ['"type" = "lorry"']
    assert conditions(head + "TYPE = “truck”") == ["\"type\" = 'truck'"]


@pytest.mark.timeout(60)
def test_queries_that_would_take_very_long() -> None:
    said = str(mistake("SELECT x FROM MovingObjects WHERE " + " OR ".join(["x > 1"] * 2000)))
    assert "nested more than 250 levels deep" in said
    said = str(mistake("SELECT x FROM MovingObjects WHERE x = 0" + " OR x > 1 AND x < 2" * 2500))
    assert "nested more than 250 levels deep" in said
    said = str(
        mistake("SELECT a.x FROM " + ", ".join(["MovingObjects a", *(f"MovingObjects b{n}" for n in range(200))]))
    )
    assert "FROM names 201 streams and tables; expected at most 100" in said


def test_a_very_long_query() -> None:
    values = ", ".join(map(str, range(30_000)))
    said = str(mistake(f"SELECT x FROM MovingObjects WHERE speed IN ({values})"))
    assert "signs; expected at most 100,000" in said
    assert len(said) < 1000, "only the beginning is shown"
    many = ", ".join(["x"] * 900)
    assert "the answer has 1,800 columns; expected at most 1,000" in str(
        mistake(f"SELECT {many}, {many} FROM MovingObjects")
    )
    said = str(mistake(f"SELECT {many}, z FROM MovingObjects"))
    assert "there is no column 'z'" in said
    assert len(said) < 1000
    assert said.splitlines()[1].lstrip()[said.splitlines()[2].index("^") - 2 :].startswith("z FROM")


@pytest.mark.parametrize("call", ["date_diff('day', x, x)", "date_trunc('day', x)", "extract(hour from x)"])
def test_the_unit_of_a_time_is_no_column(call: str) -> None:
    assert "needs a timestamp, got float64" in str(mistake(f"SELECT {call} FROM MovingObjects"))
