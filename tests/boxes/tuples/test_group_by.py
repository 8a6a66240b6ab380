"""GroupBy: order within groups, and ties by value where groups are mixed."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.group_by("k").group_by("k", "j").output("o1")
    s.group_by("k").group_by("j").output("o2")
    s.group_by("f").group_by().output("o3")


WEIGHT = 3
GROUPINGS = [(), ("k",), ("j",), ("k", "j"), ("s",), ("b", "k")]


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.group_by(*draw(st.sampled_from(GROUPINGS)), name=name)


def test_ties_of_other_groups_are_put_in_the_order_of_their_values() -> None:
    arrivals = tuples((2, 1, 9, "a"), (1, 1, 8, "a"), (None, 1, 7, "a"), (1, 2, 1, "a"))
    by_text = one(lambda s: s.group_by("k").group_by("s"), arrivals)
    assert by_text == [(None, 1, 7, "a"), (1, 1, 8, "a"), (2, 1, 9, "a"), (1, 2, 1, "a")]
    as_it_came = one(lambda s: s.group_by("s"), arrivals)
    assert [row[0] for row in as_it_came] == [2, 1, None, 1]
