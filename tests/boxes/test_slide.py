"""Slide: windows that overlap, by time and by tuples."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_by_time() -> None:
    got = one(lambda s: s.slide("t", over=4, every=2, n="sum(x)"), tuples((1, 0, 1), (1, 2, 2), (1, 3, 4), (1, 9, 8)))
    assert got == [(1, 1), (3, 7), (5, 6), (9, 8), (11, 8)]


def test_every_longer_than_over_leaves_tuples_out() -> None:
    got = one(lambda s: s.slide("t", over=2, every=10, n="sum(x)"), tuples((1, 3, 1), (1, 8, 2), (1, 9, 4), (1, 12, 8)))
    assert got == [(9, 6)]


def test_by_tuples() -> None:
    arrivals = tuples(*((1, i, i) for i in range(6)))
    assert one(lambda s: s.slide("t", size=3, n="sum(x)"), arrivals) == [(2, 3), (3, 6), (4, 9), (5, 12)]
    assert one(lambda s: s.slide("t", size=2, advance=3, n="sum(x)"), arrivals) == [(1, 1), (4, 7)]
