"""Map: computed columns, kept columns, another time."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.network.schema import Type
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw
from tests.conformance.expressions import texts


def case(s: StreamHandle) -> None:
    s.map("box", y="x * 2 + coalesce(f, 0)", z="x // 2", w="case when x > 1 then s else j end").output("o1")
    s.group_by("k").map("box2", {"x": "n", "u": "f / 3"}, keep=["k", "t"]).output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    kinds = {"x": Type.INT64, "f": Type.FLOAT64, "s": Type.STRING}
    columns = {c: draw(texts(stream.schema, kind, 1)) for c, kind in kinds.items() if draw(st.booleans())}
    return stream.map(name, columns or {"y": "1"})


def test_all_expressions_see_the_tuple_as_it_came() -> None:
    got = one(lambda s: s.map("m", x="x + 1", old="x", keep=["time"]), tuples((1, 1, 5), (1, 2, None)))
    assert got == [(1, 6, 5), (2, None, None)]


def test_a_copy_of_the_time_keeps_the_order_a_new_time_does_not() -> None:
    stream = Network("n").source("s", COLUMNS)
    assert stream.map("copy", at="time", time_column="at").type.ordered
    assert not stream.map("new", at="time + 1", time_column="at").type.ordered
    assert not stream.map("same_name", time="time + 1").type.ordered
