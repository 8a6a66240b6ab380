"""Slide: windows that overlap, by time and by tuples."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import ALL, DISTINCT, PERCENTILES, START, one, tuples
from tests.conformance.choices import Draw, values_over

EXACT = {name: text for name, text in ALL.items() if name not in ("sf", "sd")} | {"start": "window_start()"}
"""Windows of these are put together from parts that several of them share."""


def case(s: StreamHandle) -> None:
    s.group_by("k").slide("box", ALL | START, over=12, every=5).output("o1")
    s.slide("box2", ALL | DISTINCT | PERCENTILES, over=3, every=10).output("o2")
    s.group_by("k").slide("box3", ALL | START, size=3, advance=2).output("o3")
    s.slide("box4", ALL | DISTINCT | PERCENTILES, size=2, advance=5).output("o4")
    s.slide("box5", ALL, size=4).output("o5")
    s.group_by("k").slide("box6", EXACT, over=12, every=3).output("o6")
    s.slide("box7", EXACT, over=10, every=5).output("o7")


WEIGHT = 2


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values = values_over(draw, stream, draw(st.booleans()))
    if draw(st.booleans()):
        return stream.slide(
            name, values, over=draw(st.sampled_from([1, 3, 12])), every=draw(st.sampled_from([1, 4, 5]))
        )
    return stream.slide(name, values, size=draw(st.integers(1, 4)), advance=draw(st.integers(1, 5)))


def test_by_time() -> None:
    got = one(lambda s: s.slide("t", over=4, every=2, n="sum(x)"), tuples((1, 0, 1), (1, 2, 2), (1, 3, 4), (1, 9, 8)))
    assert got == [(1, 1), (3, 7), (5, 6), (9, 8), (11, 8)]


def test_windows_from_parts_are_those_of_all_their_tuples() -> None:
    arrivals = tuples((1, 0, 3, "b"), (2, 0, None), (1, 4, None, "a"), (2, 5, 7), (1, 5, 8), (1, 31, 1, "z"))
    values = {"n": "count(*)", "a": "avg(x)", "lo": "min(s)", "la": "last(x)", "at": "window_start()"}
    got = one(lambda s: s.group_by("k").slide("t", values, over=6, every=3), arrivals)
    assert got[:4] == [
        (1, 2, 1, 3.0, "b", 3, -3),
        (2, 2, 1, None, None, None, -3),
        (1, 5, 3, 5.5, "a", 8, 0),
        (2, 5, 2, 7.0, None, 7, 0),
    ]
    assert got[4:] == [
        (1, 8, 2, 8.0, "a", 8, 3),
        (2, 8, 1, 7.0, None, 7, 3),
        (1, 32, 1, 1.0, "z", 1, 27),
        (1, 35, 1, 1.0, "z", 1, 30),
    ]


def test_every_longer_than_over_leaves_tuples_out() -> None:
    got = one(lambda s: s.slide("t", over=2, every=10, n="sum(x)"), tuples((1, 3, 1), (1, 8, 2), (1, 9, 4), (1, 12, 8)))
    assert got == [(9, 6)]


def test_by_tuples() -> None:
    arrivals = tuples(*((1, i, i) for i in range(6)))
    assert one(lambda s: s.slide("t", size=3, n="sum(x)"), arrivals) == [(2, 3), (3, 6), (4, 9), (5, 12)]
    assert one(lambda s: s.slide("t", size=2, advance=3, n="sum(x)"), arrivals) == [(1, 1), (4, 7)]
