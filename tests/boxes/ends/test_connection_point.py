"""ConnectionPoint: every tuple passes, and the engine is asked to keep it."""

from __future__ import annotations

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.connection_point("box", "1 hour", ["k"]).output("o1")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.connection_point(name, retention="1 hour")


def test_every_tuple_passes() -> None:
    assert len(one(lambda s: s.connection_point("c", "1 hour"), tuples((1, 1), (2, 2)))) == 2
