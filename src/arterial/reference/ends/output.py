"""What Output means."""

from __future__ import annotations

from arterial.boxes.ends.output import Output
from arterial.network.box import IN
from arterial.reference.parts.causes import Because, passed_on
from arterial.reference.parts.stream import Tuples


def output(box: Output, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Nothing goes on inside of the network."""
    return {}


def because(box: Output, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself."""
    return Because({IN: (place,)}, "arrives")


scope = passed_on
"""The tuple itself."""
