"""What ConnectionPoint means."""

from __future__ import annotations

from arterial.boxes.connection_point import ConnectionPoint
from arterial.network.box import IN, OUT
from arterial.reference.stream import Tuples


def connection_point(box: ConnectionPoint, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Everything goes on."""
    return {OUT: inputs[IN]}
