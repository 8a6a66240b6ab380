"""WaitFor: tuples are held until the latest of another stream fulfils a predicate."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import outputs, tuples
from tests.conformance.choices import Draw, grouped_like


def case(s: StreamHandle) -> None:
    a, b = s.filter("a", "x > 0"), s.filter("b", "f < 1")
    w = a.wait_for("box", "until.t > t + 2", b)
    w.output("o1")
    w.unmet.output("o2")
    w = a.group_by("k").wait_for("box2", "until.x < x or until.s = s", b.group_by("k"))
    w.output("o3")
    w.unmet.output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    until = draw(st.sampled_from(grouped_like(stream, others)))
    mine, theirs = stream.type.time, until.type.time
    test = draw(st.sampled_from([f"until.{theirs} > {mine} + 1", "until.x > x", "until.s = s", "until.b"]))
    return stream.wait_for(name, test, until, time=f"{name}_time")


def test_release_order_and_what_is_never_met() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        asks, tells = s.filter("asks", "s = 'ask'"), s.filter("tells", "s = 'tell'")
        w = asks.wait_for("w", "until.x >= x", tells)
        w.output("o")
        w.unmet.output("never")

    arrivals = tuples(
        (1, 0, 5, "ask"), (2, 1, 3, "tell"), (3, 2, 2, "ask"), (4, 2, 7, "ask"), (5, 4, 5, "tell"), (6, 4, 6, "tell"),
        (7, 9, 9, "ask"),
    )  # fmt: skip
    got = outputs(draw, arrivals)
    assert [(row[0], row[4]) for row in got["o"]] == [(3, 2), (1, 4)]
    assert [row[0] for row in got["never"]] == [4, 7]
