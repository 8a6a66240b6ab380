"""ConnectionPoint: every tuple passes, and the engine is asked to keep it."""

from __future__ import annotations

from arterial.boxes.ends.connection_point import ConnectionPoint
from arterial.drawing import Network, StreamHandle
from arterial.network.box import Keeping
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.connection_point("box", "1 hour", ["k"]).output("o1")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.connection_point(name, retention="1 hour")


def test_every_tuple_passes() -> None:
    assert len(one(lambda s: s.connection_point("c", "1 hour"), tuples((1, 1), (2, 2)))) == 2


def test_a_storage_key_of_one_column_may_be_a_text() -> None:
    net = Network("n")
    net.source("s", {"time": int, "seg": int}).connection_point("c", 10, "seg").view("v", "all", storage_key="seg")
    assert net.value.box("c") == ConnectionPoint("c", 10, ("seg",))
    assert net.value.box("v").keeping == Keeping("1 hour", ("seg",))
