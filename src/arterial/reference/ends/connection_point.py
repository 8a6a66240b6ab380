"""What ConnectionPoint means."""

from __future__ import annotations

from arterial.boxes.ends.connection_point import ConnectionPoint
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, passed_on
from arterial.reference.parts.stream import Tuples


def connection_point(box: ConnectionPoint, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Everything goes on."""
    return {OUT: inputs[IN]}


def because(
    box: ConnectionPoint, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int
) -> Because:
    """The tuple itself."""
    return Because({IN: (place,)}, "passes")


scope = passed_on
"""The tuple itself."""
