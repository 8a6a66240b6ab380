"""Leaders: the first rows of those that stand, as they come and go."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from tests.boxes.drawn import COLUMNS, one, signed, tuples
from tests.conformance.choices import Draw, columns


def case(s: StreamHandle) -> None:
    s.leaders("box", k=2, by="x").output("o1")
    signed(s).leaders("box2", k=3, by="f", ascending=True).output("o2")
    s.latest("now", "k").group_by("j").leaders("box3", k=1, by="s").output("o3")
    s.map("few", keep=["t", "k"]).leaders("box4", k=3, by="k % 2").output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    names = columns(stream, "sign")
    return stream.leaders(name, draw(st.integers(1, 3)), draw(st.sampled_from(names)), ascending=draw(st.booleans()))


def test_who_leads() -> None:
    arrivals = tuples((1, 1, 5), (2, 1, 7), (3, 2, 6), (2, 3, 1), (3, 4, None), (1, 4, 5))
    got = one(lambda s: s.latest("l", "k").leaders("d", k=1, by="x"), arrivals)
    assert [(row[1], row[0], row[-1]) for row in got] == [(1, 2, 1), (3, 2, -1), (3, 3, 1), (4, 3, -1), (4, 1, 1)]


def test_two_places_for_a_row_that_stands_twice() -> None:
    arrivals = tuples((1, 1, 5), (1, 1, 5), (2, 2, 9))
    got = one(lambda s: s.leaders("d", k=2, by="x"), arrivals)
    assert [(row[1], row[0], row[-1]) for row in got] == [(1, 1, 1), (1, 1, 1), (2, 1, -1), (2, 2, 1)]


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="k must be a whole number"):
        stream.leaders("t", k=0, by="x")
    with pytest.raises(NetworkError, match="no column 'y'"):
        stream.leaders("t", k=1, by="y")
    with pytest.raises(NetworkError, match="has no type"):
        stream.leaders("t", k=1, by="null")
    with pytest.raises(NetworkError, match="reads the time 'time'"):
        stream.leaders("t", k=1, by="time")
