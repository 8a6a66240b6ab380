"""Aggregate: values over what stands."""

from __future__ import annotations

import numpy as np
import pytest

from arterial.boxes.parts.values import find_extremes
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from tests.boxes.drawn import ALL, COLUMNS, DISTINCT, one, signed, tuples
from tests.conformance.choices import Draw, values_over


def case(s: StreamHandle) -> None:
    values = {name: text for name, text in ALL.items() if not text.startswith(("first", "last", "stddev"))} | DISTINCT
    rows = signed(s)
    rows.aggregate("box", values | {"a": "avg(f)", "hf": "max(f)", "mb": "min(b)"}).output("o1")
    rows.group_by("k").aggregate("box2", values).output("o2")
    s.group_by("k", "s").aggregate("box3", values).output("o3")
    s.group_by("f").aggregate("box4", n="count(*)", sf="sum(f) + 1").output("o4")


WEIGHT = 2


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = values_over(draw, stream, holistic=True, start=False)
    return stream.aggregate(name, {n: text for n, text in values.items() if "sign" not in text})


@pytest.mark.thorough
def test_of_what_stands() -> None:
    arrivals = tuples((1, 1, 5), (2, 1, 8), (3, 2, 8), (2, 3, 2), (1, 4, 8))
    got = one(lambda s: s.latest("l", "k").aggregate("a", n="count(*)", hi="max(x)", m="avg(x)"), arrivals)
    assert [row for row in got if row[-1] == 1] == [
        (1, 2, 8, 6.5, 1), (2, 3, 8, 7.0, 1), (3, 3, 8, 5.0, 1), (4, 3, 8, 6.0, 1),
    ]  # fmt: skip
    assert [row[:-1] for row in got if row[-1] == -1] == [(2, 2, 8, 6.5), (3, 3, 8, 7.0), (4, 3, 8, 5.0)]


@pytest.mark.thorough
def test_a_group_goes_with_its_last_row() -> None:
    arrivals = tuples((1, 1, 5, "a"), (2, 1, 5, "b"), (1, 2, 0), (1, 3, 6, "a"))
    got = one(
        lambda s: s.latest("l", "k").filter("there", "x <> 0").group_by("s").aggregate("a", n="count(*)"), arrivals
    )
    assert sorted(got) == [("a", 1, 1, 1), ("a", 2, 1, -1), ("a", 3, 1, 1), ("b", 1, 1, 1)]


@pytest.mark.thorough
def test_without_groups_nothing_is_told_as_nothing() -> None:
    arrivals = tuples((1, 1, 0), (1, 2, 5), (1, 3, 0), (2, 4, 3))
    got = one(lambda s: s.latest("l", "k").filter("there", "x <> 0").aggregate("a", n="count(*)", t="sum(x)"), arrivals)
    assert got == [(2, 1, 5, 1), (3, 1, 5, -1), (3, 0, None, 1), (4, 0, None, -1), (4, 1, 3, 1)]


@pytest.mark.thorough
def test_a_float_sum_forgets_what_went() -> None:
    arrivals = tuples((1, 1, 1, "1e300"), (2, 1, 1, "0.1"), (1, 2, 0), (2, 3, 0), (3, 4, 1, "0.3"))
    got = one(
        lambda s: (
            s.map("f", f="cast(s as double)").latest("l", "k").filter("there", "x <> 0").aggregate("a", t="sum(f)")
        ),
        arrivals,
    )
    assert [row[1] for row in got if row[-1] == 1] == [1e300, 0.1, None, 0.3]


def test_a_mean_is_exact() -> None:
    arrivals = tuples((1, 1, -(2**53) - 1, "1e308"), (2, 1, 2**53, "1e308"))
    got = one(lambda s: s.map("f", f="cast(s as double)").aggregate("a", m="avg(x)", f="avg(f)"), arrivals)
    assert got == [(1, -0.5, 1e308, 1)]


@pytest.mark.thorough
def test_what_does_not_change_is_not_told() -> None:
    got = one(lambda s: s.latest("l", "k").aggregate("a", hi="max(x)"), tuples((1, 1, 9), (2, 2, 4), (3, 3, 1)))
    assert got == [(1, 9, 1)]


def test_extremes_against_a_plain_loop() -> None:
    chance = np.random.default_rng(1)
    entries, weights = chance.integers(-1, 6, 200), chance.integers(-1, 3, 200)
    is_tuple, rows = np.arange(201) > 0, np.concatenate([[0], np.arange(200)])
    begins, ends, counts = np.zeros(201, np.int64), np.full(201, 6), np.zeros(6, np.int64)
    low, high, number = find_extremes(is_tuple, rows, is_tuple, begins, ends, entries, weights, counts)
    plain = np.zeros(6, np.int64)
    for i in range(200):
        if entries[i] >= 0:
            plain[entries[i]] += weights[i]
        standing = np.flatnonzero(plain > 0)
        assert number[i + 1] == len(standing)
        expected = (standing[0], standing[-1]) if len(standing) else (-1, -1)
        assert (low[i + 1], high[i + 1]) == expected


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="first is of a sequence"):
        stream.aggregate("a", f="first(x)")
    with pytest.raises(NetworkError, match="percentile is of the tuples of a window"):
        stream.aggregate("a", f="median(x)")
    with pytest.raises(NetworkError, match="outside of an aggregate"):
        stream.aggregate("a", f="x")
    with pytest.raises(NetworkError, match="time of a signed stream"):
        stream.latest("l", "k").aggregate("a", f="max(time)")
    with pytest.raises(NetworkError, match="rename it"):
        stream.aggregate("a", sign="count(*)")
    with pytest.raises(NetworkError, match="at least one value"):
        stream.aggregate("a")
