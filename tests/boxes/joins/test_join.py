"""Join: pairs near in time, of one group, that satisfy a predicate."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.boxes.joins.join import LEFT, RIGHT, Join
from arterial.drawing import Network, StreamHandle
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import Train
from arterial.testing import frame
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw, grouped_like


def case(s: StreamHandle) -> None:
    a, b = s.filter("a", "x > 0"), s.filter("b", "f < 1")
    a.join("box", b, within=3, on="left.x <> right.x or right.s = 'a'").output("o1")
    a.group_by("k").join("box2", b.group_by("k"), within=10).output("o2")
    a.join("box3", a, within=0).output("o3")
    a.group_by("k").join("box4", b.group_by("k"), within=20, after=2).output("o4")
    b.join("box5", a, within=1, after=9, on="left.x < right.x").output("o5")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    other = draw(st.sampled_from(grouped_like(stream, others)))
    on = draw(st.sampled_from([None, f"left.{stream.type.time} <= right.{other.type.time}", "left.x <> right.x"]))
    within, after = draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([None, 0, 3]))
    return stream.join(name, other, within=within, on=on, time=f"{name}_time", after=after)


def test_pairs_and_their_order() -> None:
    arrivals = tuples((1, 0, 1, "l"), (1, 2, 2, "r"), (1, 3, 3, "l"), (2, 3, 4, "r"), (1, 9, 5, "r"))

    def draw(s):  # type: ignore[no-untyped-def]
        left, right = s.filter("l", "s = 'l'").group_by("k"), s.filter("r", "s = 'r'").group_by("k")
        return left.join("j", right, within=2)

    assert one(draw, arrivals) == [(1, 0, 1, "l", 2, 2, "r", 2), (1, 3, 3, "l", 2, 2, "r", 3)]


def test_a_stream_with_itself() -> None:
    got = one(
        lambda s: s.join("j", s, within=1, on="left.x < right.x", time="at"), tuples((1, 0, 1), (2, 1, 2), (3, 1, 3))
    )
    assert [(row[0], row[4], row[8]) for row in got] == [(1, 2, 1), (1, 3, 1), (2, 3, 1)]


def test_left_tuples_are_not_kept_if_right_ones_come_no_later() -> None:
    stream = Stream(Schema.of({"t": int, "x": int}), "t")
    box, state = Join("j", 1000, after=0, fed_by={LEFT: stream, RIGHT: stream}), MemoryState()
    pairs = 0
    for i in range(50):
        left, right = frame([{"t": i, "x": i}], stream.schema), frame([{"t": 0, "x": 7}] * (i == 0), stream.schema)
        pairs += len(box.process({LEFT: Train(left, i), RIGHT: Train(right, i)}, state)["out"])
        assert len(state.keys("left.past")) <= 1
    assert pairs == 50
