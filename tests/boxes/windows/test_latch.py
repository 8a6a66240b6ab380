"""Latch: values over the lifetime of a group."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import ALL, one, tuples
from tests.conformance.choices import Draw, values_over


def case(s: StreamHandle) -> None:
    s.group_by("k").latch("box", ALL, every=10).output("o1")
    s.latch("box2", ALL, size=3).output("o2")
    s.group_by("j").latch("box3", ALL, size=1).output("o3")
    s.latch("box4", ALL, every=4).output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = values_over(draw, stream, holistic=False, start=False)
    if draw(st.booleans()):
        return stream.latch(name, values, every=draw(st.sampled_from([1, 5, 10])))
    return stream.latch(name, values, size=draw(st.integers(1, 3)))


def test_goes_on_from_window_to_window() -> None:
    arrivals = tuples((1, 0, 5), (1, 3, 2), (2, 4, 1), (1, 25, 4), (1, 26, None))
    got = one(lambda s: s.group_by("k").latch("l", every=10, n="count(*)", top="max(x)"), arrivals)
    assert sorted(got) == [(1, 9, 2, 5), (1, 29, 4, 5), (2, 9, 1, 1)]


def test_after_every_tuple() -> None:
    got = one(lambda s: s.latch("l", size=1, total="sum(x)", low="min(x)"), tuples((1, 0, 5), (1, 0, None), (1, 3, 2)))
    assert got == [(0, 5, 5), (0, 5, 5), (3, 7, 2)]
