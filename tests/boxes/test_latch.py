"""Latch: values over the lifetime of a group."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_goes_on_from_window_to_window() -> None:
    arrivals = tuples((1, 0, 5), (1, 3, 2), (2, 4, 1), (1, 25, 4), (1, 26, None))
    got = one(lambda s: s.group_by("k").latch("l", every=10, n="count(*)", top="max(x)"), arrivals)
    assert sorted(got) == [(1, 9, 2, 5), (1, 29, 4, 5), (2, 9, 1, 1)]


def test_after_every_tuple() -> None:
    got = one(lambda s: s.latch("l", size=1, total="sum(x)", low="min(x)"), tuples((1, 0, 5), (1, 0, None), (1, 3, 2)))
    assert got == [(0, 5, 5), (0, 5, 5), (3, 7, 2)]
