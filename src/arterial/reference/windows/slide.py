"""What Slide means."""

from __future__ import annotations

from arterial.boxes.windows.slide import Slide
from arterial.network.box import IN
from arterial.reference.parts.causes import Because, Region
from arterial.reference.parts.stream import Tuples
from arterial.reference.parts.windows import Window, because_of, by_time_windows, by_tuples, computed, scope_of


def slide(box: Slide, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Windows that may overlap."""
    return computed(box, inputs[IN], _windows(box, inputs[IN]), by_tuples=box.size is not None)


def because(box: Slide, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuples of the window."""
    return because_of(box, _windows(box, inputs[IN]), f"the last {box.size} tuples", outputs, place)


def scope(box: Slide, port: str, region: Region) -> dict[str, Region]:
    """The group's tuples in the window; all before, where windows count tuples."""
    return scope_of(box, box.over, region)


def _windows(box: Slide, tuples: Tuples) -> list[Window]:
    if box.size is not None:
        return by_tuples(box, tuples, box.size, box.advance or 1)
    return by_time_windows(box, tuples, box.over, box.every)
