"""Match: the join of what stands."""

from __future__ import annotations

import pytest

from arterial import Network
from arterial.boxes.match import taken_apart
from arterial.errors import NetworkError
from arterial.network.expression.parser import predicate
from arterial.network.schema import Schema
from tests.boxes.drawn import COLUMNS, one, tuples


def test_pairs_come_and_go_with_their_rows() -> None:
    arrivals = tuples((1, 1, 5, "car"), (1, 2, 5, "fan"), (1, 3, 6, "car"), (1, 4, 0, "fan"))

    def draw(s):  # type: ignore[no-untyped-def]
        cars = s.filter("cars", "s = 'car'").latest("l", "k")
        fans = s.filter("fans", "s = 'fan'").latest("m", "k").filter("there", "x <> 0")
        return cars.match("pairs", fans, on="left.k = right.k and left.x > right.x - 1")

    assert one(draw, arrivals) == [
        (1, 2, 5, "car", 1, 5, "fan", 1),
        (1, 3, 5, "car", 1, 5, "fan", -1),
        (1, 3, 6, "car", 1, 5, "fan", 1),
        (1, 4, 6, "car", 1, 5, "fan", -1),
    ]


def test_equal_rows_make_as_many_pairs() -> None:
    got = one(lambda s: s.match("m", s, on="left.k = right.k"), tuples((1, 1, 5), (1, 1, 5)))
    assert [row[-1] for row in got] == [1, 1, 1, 1]


def test_equalities_between_the_sides_are_looked_up() -> None:
    schema = Schema.of({"left.a": int, "right.a": int, "left.b": int})
    tree = predicate("left.a + 1 = right.a and left.a = left.b and left.b > right.a", schema)
    equal, rest = taken_apart(tree)
    assert len(equal) == 1
    assert rest is not None
    assert taken_apart(predicate("left.a = right.a or left.b = 1", schema))[0] == ()


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="a time or a sign"):
        stream.match("m", stream, on="left.time = right.time")
    with pytest.raises(NetworkError, match="grouped alike"):
        stream.match("m", stream.group_by("k"))
    with pytest.raises(NetworkError, match="two columns 'right_x'"):
        stream.map("r", right_x="x").match("m", stream)
