"""BSort: a stream whose time was computed is put back in order."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import outputs, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    b = s.map("m", at="t + n", time_column="at").bsort("box", 3)
    b.output("o1")
    b.late.output("o2")
    s.bsort("box2", 2, time="x").output("o3")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    time = stream.type.time
    text = draw(st.sampled_from([f"{time} + n", f"{time} - n % 3", f"coalesce(n, {time})"]))
    return stream.map(f"{name}_time", late_time=text, time_column="late_time").bsort(name, draw(st.integers(0, 5)))


def test_sorts_and_tells_what_is_late() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        b = s.map("m", at="time - x", time_column="at").bsort("b", 3)
        b.output("o")
        b.late.output("late")

    got = outputs(draw, tuples((1, 5, 0), (2, 6, 4), (3, 7, 1), (4, 8, 7), (5, 9, None)))
    assert [(row[0], row[4]) for row in got["o"]] == [(2, 2), (1, 5), (3, 6)]
    assert [row[0] for row in got["late"]] == [4, 5]
