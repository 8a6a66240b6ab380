"""Functions of the user's own: in Map, in Filter, as aggregates; and what is told when one raises."""

from __future__ import annotations

import polars as pl
import pytest

from arterial import function
from arterial.errors import NetworkError, RunError
from arterial.network.expression.function import TupleError, call_on_columns
from tests.boxes.drawn import one, tuples


@function(reads=["x", "k"], produces={"sum": "int64", "shout": "string"})
def both(x: pl.Series, k: pl.Series) -> tuple[pl.Series, pl.Series]:
    return x + k, (x.cast(pl.String) + "!")


@function(reads=["x"], produces="bool")
def even(x: pl.Series) -> pl.Series:
    return x % 2 == 0


@function(reads=["x"], produces={"middle": "float64", "spread": "int64"})
def middle(x: pl.Series) -> tuple[float | None, int | None]:
    return x.median(), None if x.max() is None else x.max() - x.min()  # type: ignore[operator,return-value]


@function(reads=["x"], produces="int64")
def picky(x: pl.Series) -> pl.Series:
    if (x == 13).any():
        raise ValueError("thirteen")
    return x


def test_in_a_map_and_a_filter() -> None:
    arrivals = tuples((1, 0, 4), (2, 1, 5), (3, 2, None))
    assert one(lambda s: s.map("m", both, keep=["time"]), arrivals) == [(0, 5, "4!"), (1, 7, "5!"), (2, None, None)]
    assert [row[0] for row in one(lambda s: s.filter("f", even), arrivals)] == [1]


def test_as_an_aggregate() -> None:
    arrivals = tuples((1, 0, 4), (1, 1, 8), (1, 2, 1), (1, 11, None))
    got = one(lambda s: s.group_by("k").tumble("t", middle, every=10, n="count(*)"), arrivals)
    assert got == [(1, 9, 4.0, 7, 3), (1, 19, None, None, 1)]
    assert one(lambda s: s.slide("t", middle, size=2), arrivals)[0] == (1, 6.0, 4)


def test_the_tuple_is_named() -> None:
    with pytest.raises(TupleError, match=r"box 'b' failed on the tuple .*'x': 13.*ValueError: thirteen") as told:
        call_on_columns(picky, "b", pl.DataFrame({"x": [1, 13, 2]}))
    assert told.value.values == {"x": 13}
    with pytest.raises(RunError, match=r"'m'.*13"):
        one(lambda s: s.map("m", y=picky), tuples((1, 0, 1), (1, 1, 13)))


def test_mistakes_in_functions() -> None:
    with pytest.raises(NetworkError, match="one bool"):
        one(lambda s: s.filter("f", both), [])
    with pytest.raises(NetworkError, match="no column 'k'"):
        one(lambda s: s.map("less", keep=["time", "x"], y="1").map("m", both), [])
