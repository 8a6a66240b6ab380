"""Output and ConnectionPoint: what reaches them is delivered as it is."""

from __future__ import annotations

from arterial.drawing import StreamHandle
from arterial.network.qos import Delay
from tests.boxes.drawn import one, outputs, tuples


def case(s: StreamHandle) -> None:
    s.output("o1")


def test_everything_is_delivered() -> None:
    arrivals = tuples((1, 0), (2, 1), (3, 1))
    assert len(outputs(lambda s: s.output("o", qos=Delay(1, 2)), arrivals)["o"]) == 3
    assert len(one(lambda s: s.connection_point("c", "1 hour", ["k"]), arrivals)) == 3
