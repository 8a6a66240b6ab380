"""What View means."""

from __future__ import annotations

from arterial.boxes.ends.view import View
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, passed_on
from arterial.reference.parts.stream import Tuples


def view(box: View, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Everything goes on."""
    return {OUT: inputs[IN]}


def because(box: View, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself."""
    return Because({IN: (place,)}, "passes")


scope = passed_on
"""The tuple itself."""
