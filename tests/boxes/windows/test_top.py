"""Top: the greatest tuples of each group and window, their places, ties, and what is kept."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.boxes.windows.top import Top
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import Train
from arterial.testing import frame
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.top("box", k=2, by="x", every=10).output("o1")
    s.group_by("k").top("box2", k=1, by="f", every=7, rank="place").output("o2")
    s.group_by("j").top("box3", k=3, by="s", every=40, ascending=True).output("o3")
    s.top("box4", k=4, by="n % 3", every=5).output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    by, every = draw(st.sampled_from(stream.schema.names)), draw(st.sampled_from([1, 5, 10]))
    k, ascending = draw(st.integers(1, 3)), draw(st.booleans())
    return stream.top(name, k, by, every, ascending=ascending, rank=f"rank_{name}")


ARRIVALS = tuples((1, 0, 5, "a"), (2, 3, 9, "b"), (3, 9, 5, "c"), (4, 9, None), (1, 10, 1), (2, 35, 2))


def test_the_greatest_of_each_window() -> None:
    got = one(lambda s: s.top("t", k=2, by="x", every=10), ARRIVALS)
    assert got == [(2, 9, 9, "b", 1), (1, 9, 5, "a", 2), (1, 19, 1, None, 1), (2, 39, 2, None, 1)]


def test_the_least() -> None:
    got = one(lambda s: s.top("t", k=3, by="x", every=10, ascending=True), ARRIVALS)
    assert [(row[0], row[-1]) for row in got] == [(1, 1), (3, 2), (2, 3), (1, 1), (2, 1)]


@pytest.mark.thorough
def test_only_the_list_is_kept() -> None:
    stream = Stream(Schema.of({"t": int, "x": int}), "t")
    box, state = Top("t", 3, "x", 1000, fed_by={IN: stream}), MemoryState()
    for i in range(100):
        box.process({IN: Train(frame([{"t": i, "x": i * 37 % 100}], stream.schema), i)}, state)
        assert sum(len(chunk) for chunk in state.chunks.values()) <= 12
    made = box.process({IN: Train(stream.schema.empty(), 999)}, state)["out"].tuples
    assert made.rows() == [(999, 99, 1), (999, 98, 2), (999, 97, 3)]
    assert not state.chunks


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="k must be a whole number"):
        stream.top("t", k=0, by="x", every=1)
    with pytest.raises(NetworkError, match="no column 'y'"):
        stream.top("t", k=1, by="y", every=1)
    with pytest.raises(NetworkError, match="rank='place'"):
        stream.top("t", k=1, by="x", every=1, rank="s")
    with pytest.raises(NetworkError, match="has no type"):
        stream.top("t", k=1, by="null", every=1)
