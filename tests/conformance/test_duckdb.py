"""Expressions against DuckDB: what docs/expressions.md says of the differences, and samples of what agrees."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from arterial.drawing import Network
from arterial.errors import NetworkError
from arterial.testing import run

VALUES: dict[str, Any] = {"i": -7, "n": 5, "z": 0, "f": 2.5, "s": "Hello", "d": "1.9", "e": "2026-03-01 06:30:00"}


def ours(text: str) -> Any:
    return all_ours([text])[0]


def all_ours(texts: list[str]) -> list[Any]:
    """The values of some expressions, from one network."""
    net = Network("expressions")
    rows = net.source("s", {"time": int, **{name: type(value) for name, value in VALUES.items()}})
    rows.map("m", **{f"y{number}": text for number, text in enumerate(texts)}).output("o")
    row = run(net, {"s": [{"time": 1, **VALUES}]})["o"][0]
    return [row[f"y{number}"] for number in range(len(texts))]


def theirs(text: str) -> Any:
    return all_theirs([text])[0]


def all_theirs(texts: list[str]) -> list[Any]:
    columns = ", ".join(f"{value!r} AS {name}" if not isinstance(value, float) else f"{value!r}::DOUBLE AS {name}"
                        for name, value in VALUES.items())  # fmt: skip
    asked = ", ".join(texts)
    for kind, name in (("int16", "SMALLINT"), ("int64", "BIGINT"), ("float64", "DOUBLE"), ("string", "VARCHAR")):
        asked = asked.replace(f"as {kind})", f"as {name})")
    with duckdb.connect() as base:
        row = base.execute(f"SELECT {asked} FROM (SELECT {columns})").fetchone()
    assert row is not None
    return list(row)


REFUSED, ERROR = "refused", "an error"
NAN, INFINITY = math.nan, math.inf
WHEN = datetime(2026, 3, 1, 6, 30)

DIFFERS: dict[str, list[tuple[str, Any, Any]]] = {
    "`-7 // 2`": [("i // 2", -4, -3), ("i % 3", 2, -1)],
    "`1 / 0`": [("n / z", None, INFINITY), ("n // z", None, ERROR), ("n % z", None, ERROR)],
    "integers out of range": [("9223372036854775807 + n", -9223372036854775804, ERROR)],
    "a cast that does not fit": [("cast(s as int64)", None, ERROR), ("cast('noon' as timestamp)", REFUSED, ERROR)],
    "`cast(1.9 as int64)`": [("cast(f - 0.6 as int64)", 1, 2)],
    "`cast('1.9' as int64)`": [
        ("cast(d as int64)", None, 2), ("cast(' 12 ' as int64)", None, 12), ("cast('1e3' as int64)", None, 1000),
    ],
    "`cast(' 1.5 ' as float64)`": [("cast(' 1.5 ' as float64)", None, 1.5)],
    "`cast('2026-1-2' as timestamp)`": [
        ("cast(replace(e, '-0', '-') as timestamp)", None, WHEN), ("cast(e || '+00:00' as timestamp)", None, WHEN),
    ],
    "`cast('2026-03-01 24:00' as timestamp)`": [
        ("cast(replace(e, '06:30', '24:00') as timestamp)", None, datetime(2026, 3, 2)),
        ("cast(e || '.1234567' as timestamp)", None, WHEN.replace(microsecond=123456)),
    ],
    "`cast('0x10' as int64)`": [("cast('0x10' as int64)", None, 16), ("cast('1_000' as int64)", None, 1000)],
    "`cast(x as int8)`": [("cast(n * 60 as int8)", None, 300), ("cast(n as Float64)", 5.0, ERROR)],
    "`cast(5 as timestamp)`": [
        ("cast(n as timestamp)", datetime(1970, 1, 1, microsecond=5), ERROR),
        ("cast(cast('1970-01-01 00:01' as timestamp) as int64)", 60_000_000, ERROR),
    ],
    "`to_timestamp(n)`": [
        ("year(to_timestamp(n * 1000000000000))", None, 160413),
        ("year(epoch_ms(n * 1000000000000000))", None, 160413),
        ("cast(timestamp '9999-12-31' + interval '1 day' as string)", None, "10000-01-01 00:00:00"),
    ],
    "`t - t`": [
        ("timestamp '1970-01-02' - timestamp '1970-01-01'", 86_400_000_000, timedelta(days=1)),
    ],
    "`t + interval '1 month'`": [
        ("timestamp '2026-01-31' + interval '1 month'", REFUSED, datetime(2026, 2, 28)),
    ],
    "`cast(1.5 as string)`": [("cast(f as string)", REFUSED, "2.5")],
    "`round(2.5)`": [("round(f)", 2.0, 3.0), ("round(f * 500, -2)", 1200.0, 1300.0)],
    "`round(1234, -2)`": [("round(n * 247, -2)", 1200.0, 1200), ("round(n, 1)", 5.0, 5)],
    "`floor(1)`": [("floor(n)", 5, 5.0), ("ceil(n)", 5, 5.0)],
    "`abs(x)`": [("abs(cast(i as int16))", 7, 7), ("-cast(i as int16)", 7, 7)],
    "`sqrt(-1)`": [
        ("sqrt(i)", None, NAN), ("asin(n)", None, NAN), ("ln(z)", None, -INFINITY), ("pow(z, -1)", None, INFINITY),
    ],
    "`sign` of NaN": [("sign(cast('nan' as float64))", 1, 0)],
    "`f % 2`": [("f % 2", REFUSED, 0.5), ("f // 2", REFUSED, 1.25)],
    "`'1' = 1`": [("'5' = n", REFUSED, True), ("s || n", REFUSED, "Hello5")],
    "`upper('ß')`": [("upper('ß')", "SS", "ẞ")],
    "`left(s, -2)`": [("left(s, -2)", REFUSED, "Hel"), ("right(s, -2)", REFUSED, "llo")],
    "`substr(s, 2, -1)`": [("substr(s, 2, -1)", REFUSED, "H")],
    "`split_part(s, '', 1)`": [("split_part(s, '', 1)", REFUSED, "H")],
    "`repeat(s, -1)`": [("repeat(s, -1)", REFUSED, "")],
    "`lpad(s, 9, '')`": [("lpad(s, 9, '')", "Hello", ERROR), ("rpad(s, 9, '')", "Hello", ERROR)],
    "`substr(s, n)`": [("substr(s, n)", REFUSED, "o"), ("left(s, n)", REFUSED, "Hello")],
    "`lower('İ')`": [("lower('İ')", "i̇", "i")],
}  # fmt: skip
"""The rows of the page's table by how they begin, and of each what both give."""


@pytest.mark.parametrize("row", DIFFERS)
def test_what_differs_as_the_page_says(row: str) -> None:
    for text, here, there in DIFFERS[row]:
        got: list[Any] = []
        for give, fault, word in ((ours, NetworkError, REFUSED), (theirs, duckdb.Error, ERROR)):
            try:
                got.append(give(text))
            except fault:
                got.append(word)
        assert [(type(one), repr(one)) for one in got] == [(type(one), repr(one)) for one in (here, there)], text


def test_every_row_of_the_page_is_compared() -> None:
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text()
    table = page.partition("## What differs from DuckDB")[2].partition("\n## ")[0]
    rows = [line.removeprefix("| ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(DIFFERS)
    assert [row for row, begin in zip(rows, DIFFERS, strict=True) if not row.startswith(begin)] == []


@pytest.mark.parametrize(
    "text",
    [
        "substr(s, 2, 3)", "substr(s, 0, 3)", "substr(s, -3)", "replace(s, 'l', 'L')", "left(s, 2) || right(s, 1)",
        "cast(n as string)", "cast('true' as bool)", "cast(d as float64)", "round(f * 1.1, 1)",
        "year(cast(e as timestamp))",
        "cast(date_trunc('hour', cast(e as timestamp)) as string)", "regexp_matches(s, 'l+o')", "sin(f)",
        "n between 1 and 5",
        "coalesce(nullif(n, 5), i)", "case when i < 0 then 'minus' else 'plus' end", "s like 'He%'", "abs(i) + sign(i)",
    ],
)  # fmt: skip
def test_what_agrees(text: str) -> None:
    assert ours(text) == theirs(text)


@pytest.mark.parametrize(
    "text",
    [
        "epoch_ms({})", "epoch_ms(epoch_ms({}))", "week({})", "weekofyear({})", "millisecond({})", "microsecond({})",
        "date_part('week', {})", "extract(millisecond from {})", "dayname({})", "monthname({})",
        *[f"date_diff('{unit}', timestamp '2024-12-29 23:59:59.9996', {{}})" for unit in (
            "microsecond", "ms", "seconds", "minute", "hr", "days", "week", "months", "quarter", "yr")],
    ],
)  # fmt: skip
def test_times_that_agree(text: str) -> None:
    """Borders of years and weeks, before 1970 too."""
    years = (1899, 1969, 1970, 2000, 2020, 2024, 2026, 2027)
    days = ("01-01 00:00:00", "01-04 12:30:59.9995", "12-28 23:59:59.999999", "12-31 23:59:59.0005")
    texts = [text.format(f"timestamp '{year}-{day}'") for year in years for day in days]
    assert dict(zip(texts, all_ours(texts), strict=True)) == dict(zip(texts, all_theirs(texts), strict=True))


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh"])
def test_hyperbolic_functions(name: str) -> None:
    for value in ("f", "i", "-f * 400", "f * 400", "cast('inf' as float64)", "z"):
        got, right = ours(f"{name}({value})"), theirs(f"{name}({value})")
        assert got == pytest.approx(right, rel=1e-15), value
