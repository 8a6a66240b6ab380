"""Union: the order of (time, input, position)."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw, like


def case(s: StreamHandle) -> None:
    s.filter("a", "x > 0").union("box", s.filter("b", "f < 1"), s).output("o1")
    s.group_by("k").union("box2", s.group_by("k")).output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    return stream.union(name, *draw(st.lists(st.sampled_from(like(stream, others)), min_size=1, max_size=2)))


def test_ties_are_in_the_order_of_the_inputs() -> None:
    arrivals = tuples((1, 1, 0), (2, 1, 1), (3, 1, 0), (4, 2, 1), (5, 2, 0))
    got = one(lambda s: s.filter("odd", "x = 1").union("u", s.filter("even", "x = 0")), arrivals)
    assert [row[0] for row in got] == [2, 1, 3, 4, 5]
