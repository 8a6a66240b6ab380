"""Filter: true goes out, false and null go otherwise."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import outputs, tuples
from tests.conformance.choices import Draw, condition


def case(s: StreamHandle) -> None:
    some = s.filter("box", "x > 1 or s like 'a%'")
    some.output("o1")
    some.otherwise.output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    made = stream.filter(name, condition(draw, stream.schema))
    return draw(st.sampled_from([made, made.otherwise]))


def test_null_is_not_true() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        fast = s.filter("f", "x > 1")
        fast.output("o")
        fast.otherwise.output("rest")

    got = outputs(draw, tuples((1, 1, 1), (2, 1, 2), (3, 2, None)))
    assert [row[0] for row in got["o"]] == [2]
    assert [row[0] for row in got["rest"]] == [1, 3]


def test_a_predicate_without_columns() -> None:
    assert len(outputs(lambda s: s.filter("f", "1 < 2").output("o"), tuples((1, 1), (2, 2)))["o"]) == 2
    assert outputs(lambda s: s.filter("f", "null").output("o"), tuples((1, 1), (2, 2)))["o"] == []
