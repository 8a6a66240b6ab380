"""Union: the order of (time, input, position)."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_ties_are_in_the_order_of_the_inputs() -> None:
    arrivals = tuples((1, 1, 0), (2, 1, 1), (3, 1, 0), (4, 2, 1), (5, 2, 0))
    got = one(lambda s: s.filter("odd", "x = 1").union("u", s.filter("even", "x = 0")), arrivals)
    assert [row[0] for row in got] == [2, 1, 3, 4, 5]
