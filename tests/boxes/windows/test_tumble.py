"""Tumble: windows by time and by tuples, stamps, gaps, nulls, several values in one pass."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import strategies as st

from arterial.boxes.windows.tumble import Tumble
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import Train
from arterial.testing import frame
from tests.boxes.drawn import ALL, COLUMNS, DISTINCT, PERCENTILES, START, one, tuples
from tests.conformance.choices import Draw, values_over


def case(s: StreamHandle) -> None:
    s.group_by("k", "s").tumble("box", ALL | START, every=10).output("o1")
    s.tumble("box2", ALL | START, every=7).output("o2")
    s.group_by("k").tumble("box3", ALL | START, size=3).output("o3")
    s.tumble("box4", ALL, size=4).output("o4")
    s.group_by("j").tumble("box5", ALL | DISTINCT | PERCENTILES | START, every=10).output("o5")
    s.group_by("f").tumble("box6", ALL | DISTINCT | PERCENTILES | START, size=2).output("o6")


WEIGHT = 2


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = values_over(draw, stream, draw(st.booleans()))
    if draw(st.booleans()):
        return stream.tumble(name, values, every=draw(st.sampled_from([1, 5, 10])))
    return stream.tumble(name, values, size=draw(st.integers(1, 4)))


def test_by_time() -> None:
    arrivals = tuples((1, 0, 5), (2, 3, 1), (1, 9, None), (1, 10, 7), (2, 35, None))
    got = one(
        lambda s: s.group_by("k").tumble("t", every=10, n="count(*)", top="max(x)", at="window_start()"), arrivals
    )
    assert sorted(got) == [(1, 9, 2, 5, 0), (1, 19, 1, 7, 10), (2, 9, 1, 1, 0), (2, 39, 1, None, 30)]


def test_by_tuples() -> None:
    arrivals = tuples((1, 0, 1), (1, 0, 2), (1, 4, 3), (1, 8, 4), (1, 9, 5))
    got = one(lambda s: s.tumble("t", size=2, n="sum(x)", at="window_start()"), arrivals)
    assert got == [(0, 3, 0), (8, 7, 4)]  # the fifth waits for a sixth for ever


def test_before_the_epoch() -> None:
    assert one(lambda s: s.tumble("t", every=10, n="count(*)"), tuples((1, -15), (1, -10), (1, -1))) == [
        (-11, 1),
        (-1, 2),
    ]


def test_values_are_expressions_over_aggregates() -> None:
    got = one(
        lambda s: s.group_by("k").tumble(
            "t", size=3, a="sum(x) / count(*) + k", b="max(x) - min(x)", c="count(distinct s)"
        ),
        tuples((10, 1, 1, "a"), (10, 2, 2, "b"), (10, 3, 6, "a")),
    )
    assert got == [(10, 3, 13.0, 5, 2)]


@pytest.mark.parametrize("draw", ["tumble", "latch", "slide"])
def test_the_mean_of_integers_is_exact(draw: str) -> None:
    arrivals = tuples((1, 0, -(2**53) - 1), (1, 1, 2**53), (1, 2, None), (1, 3, 2**63 - 1), (1, 3, 2**63 - 1))
    got = one(lambda s: getattr(s, draw)("t", size=2, m="avg(x)"), arrivals)
    assert got[0] == (1, -0.5)
    assert got[-1][1] == ((2**63 - 2) / 3 if draw == "latch" else 2.0**63)


def test_percentiles_lie_between_two_values() -> None:
    arrivals = tuples((1, 0, 30), (1, 1, 10), (1, 2, None), (1, 3, 20), (1, 4, 41), (2, 5, None))
    values = {"m": "median(x)", "p": "percentile(x, 0.9)", "q": "quantile_cont(x, 0)", "n": "percentile(x, 1)"}
    got = one(lambda s: s.group_by("k").tumble("t", values, every=10), arrivals)
    assert sorted(got) == [(1, 9, 25.0, pytest.approx(37.7), 10.0, 41.0), (2, 9, None, None, None, None)]


@pytest.mark.thorough
def test_an_approximate_percentile_is_at_most_one_part_in_128_off() -> None:
    chance = random.Random(1)
    numbers = [int(chance.choice([-1, 1]) * 10 ** chance.uniform(0, 15)) for _ in range(500)]
    shares = [0, 0.01, 0.25, 0.5, 0.9, 0.999, 1]
    values = {f"p{i}": f"approx_percentile(x, {share})" for i, share in enumerate(shares)}
    got = one(lambda s: s.tumble("t", values, every=1000), tuples(*((1, i, x) for i, x in enumerate(numbers))))
    for share, found in zip(shares, got[0][1:], strict=True):
        exact = sorted(numbers)[int(share * 499)]
        assert abs(found - exact) <= abs(exact) / 128


def test_the_histogram_stays_small() -> None:
    stream = Stream(Schema.of({"t": int, "x": int}), "t")
    box, state = Tumble("t", (("p", "approx_percentile(x, 0.5)"),), 10**6, fed_by={IN: stream}), MemoryState()
    for i in range(20):
        rows = [{"t": i, "x": 1000 + (i * 500 + j) % 1000} for j in range(500)]
        box.process({IN: Train(frame(rows, stream.schema), i)}, state)
    (chunk,) = state.chunks.values()
    assert isinstance(chunk, pl.DataFrame)
    assert chunk["@0.buckets"].list.len().to_list() == [64]


@pytest.mark.parametrize("text", ["percentile(x, 2)", "percentile(x, x)", "percentile(x)", "median(s)"])
def test_mistakes_with_percentiles(text: str) -> None:
    with pytest.raises(NetworkError):
        Network("n").source("s", COLUMNS).tumble("t", every=1, p=text)
