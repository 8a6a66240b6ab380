"""GroupBy: order within groups, and ties by value where groups are mixed."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_ties_of_other_groups_are_put_in_the_order_of_their_values() -> None:
    arrivals = tuples((2, 1, 9, "a"), (1, 1, 8, "a"), (None, 1, 7, "a"), (1, 2, 1, "a"))
    by_text = one(lambda s: s.group_by("k").group_by("s"), arrivals)
    assert by_text == [(None, 1, 7, "a"), (1, 1, 8, "a"), (2, 1, 9, "a"), (1, 2, 1, "a")]
    as_it_came = one(lambda s: s.group_by("s"), arrivals)
    assert [row[0] for row in as_it_came] == [2, 1, None, 1]
