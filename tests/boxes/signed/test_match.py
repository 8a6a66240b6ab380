"""Match: the join of what stands."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.boxes.signed.match import taken_apart
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.expression.parser import predicate
from arterial.network.schema import Schema
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw, grouped_like


def case(s: StreamHandle) -> None:
    a, b = s.latest("a", "k"), s.filter("some", "x > 0")
    a.match("box", b, on="left.j = right.j and left.n <> right.n").output("o1")
    a.group_by("k").match("box2", a.group_by("k")).output("o2")
    b.match("box3", a, on="left.f = right.f and right.x + 1 = left.x + 1").output("o3")
    a.match("box4", s.latest("c", "j"), on="left.x < right.x or left.b").output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    other = draw(st.sampled_from(grouped_like(stream, others)))
    on = draw(
        st.sampled_from(["left.k = right.k", "left.x = right.x and left.f <> right.f", "left.n + 1 = right.n", None])
    )
    return stream.match(name, other, on=on)


@pytest.mark.thorough
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
