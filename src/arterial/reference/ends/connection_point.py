"""What ConnectionPoint means."""

from __future__ import annotations

from arterial.boxes.ends.connection_point import ConnectionPoint
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, Region, passed_on
from arterial.reference.parts.stream import Tuples


def connection_point(box: ConnectionPoint, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Everything goes on."""
    return {OUT: inputs[IN]}


def because(
    box: ConnectionPoint, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int
) -> Because:
    """The tuple itself."""
    return Because({IN: (place,)}, "passes")


def scope(box: ConnectionPoint, port: str, region: Region) -> dict[str, Region]:
    """The tuple itself."""
    return passed_on(box, port, region)
