"""Expressions against DuckDB: what docs/expressions.md says of the differences, and samples of what agrees."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from arterial.drawing import Network
from arterial.testing import run

VALUES: dict[str, Any] = {"i": -7, "n": 5, "z": 0, "f": 2.5, "s": "Hello", "d": "1.9", "e": "2026-03-01 06:30:00"}


def ours(text: str) -> Any:
    net = Network("expression")
    net.source("s", {"time": int, **{name: type(value) for name, value in VALUES.items()}}).map("m", y=text).output("o")
    return run(net, {"s": [{"time": 1, **VALUES}]})["o"][0]["y"]


def theirs(text: str) -> Any:
    columns = ", ".join(f"{value!r} AS {name}" if not isinstance(value, float) else f"{value!r}::DOUBLE AS {name}"
                        for name, value in VALUES.items())  # fmt: skip
    for kind, name in (("int64", "BIGINT"), ("float64", "DOUBLE"), ("string", "VARCHAR")):
        text = text.replace(f"as {kind})", f"as {name})")
    with duckdb.connect() as base:
        row = base.execute(f"SELECT {text} FROM (SELECT {columns})").fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(
    ("text", "here", "there"),
    [
        ("i // 2", -4, -3),
        ("i % 3", 2, -1),
        ("cast(d as int64)", None, 2),
        ("cast(f - 0.6 as int64)", 1, 2),
        ("round(f)", 2.0, 3.0),
        ("round(f * 500, -2)", 1200.0, 1300.0),
        ("sqrt(i)", None, "error"),
        ("upper('ß')", "SS", "ẞ"),
        ("n // z", None, "error"),
        ("n % z", None, "error"),
    ],
)
def test_what_differs_as_the_page_says(text: str, here: Any, there: Any) -> None:
    assert ours(text) == here
    try:
        got = theirs(text)
    except duckdb.Error:
        got = "error"
    assert got == there or got != here


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
