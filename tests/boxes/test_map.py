"""Map: computed columns, kept columns, another time."""

from __future__ import annotations

from arterial import Network
from tests.boxes.drawn import COLUMNS, one, tuples


def test_all_expressions_see_the_tuple_as_it_came() -> None:
    got = one(lambda s: s.map("m", x="x + 1", old="x", keep=["time"]), tuples((1, 1, 5), (1, 2, None)))
    assert got == [(1, 6, 5), (2, None, None)]


def test_a_copy_of_the_time_keeps_the_order_a_new_time_does_not() -> None:
    stream = Network("n").source("s", COLUMNS)
    assert stream.map("copy", at="time", time_column="at").type.ordered
    assert not stream.map("new", at="time + 1", time_column="at").type.ordered
    assert not stream.map("same_name", time="time + 1").type.ordered
