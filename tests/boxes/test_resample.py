"""Resample: tuples on a grid, interpolated where neighbours are near."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_linear_and_previous() -> None:
    arrivals = tuples((1, 1, 10, "a"), (1, 5, 30, "b"), (1, 6, 0, "c"), (1, 6, 1, "d"), (1, 20, 5, "e"))
    got = one(lambda s: s.resample("r", every=2, within=5, x="linear", s="previous"), arrivals)
    assert got == [(2, 15.0, "a"), (4, 25.0, "a"), (6, 1.0, "d"), (20, 5.0, "e")]


def test_null_at_one_end() -> None:
    got = one(lambda s: s.resample("r", every=1, within=5, x="linear"), tuples((1, 0, 1), (1, 2, None), (1, 4, 3)))
    assert got == [(0, 1.0), (1, None), (2, None), (3, None), (4, 3.0)]
