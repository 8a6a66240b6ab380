"""What Tumble means."""

from __future__ import annotations

from arterial.boxes.windows.tumble import Tumble
from arterial.network.box import IN
from arterial.reference.parts.causes import Because, Region
from arterial.reference.parts.stream import Tuples
from arterial.reference.parts.windows import Window, because_of, by_time_windows, by_tuples, computed, scope_of


def tumble(box: Tumble, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Disjoint windows are windows that advance by their own length."""
    return computed(box, inputs[IN], _windows(box, inputs[IN]), by_tuples=box.size is not None)


def because(box: Tumble, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuples of the window."""
    return because_of(box, _windows(box, inputs[IN]), f"{box.size} tuples in a row", outputs, place)


def scope(box: Tumble, port: str, region: Region) -> dict[str, Region]:
    """The group's tuples in the window; all before, where windows count tuples."""
    return scope_of(box, box.every, region)


def _windows(box: Tumble, tuples: Tuples) -> list[Window]:
    if box.size is not None:
        return by_tuples(box, tuples, box.size, box.size)
    return by_time_windows(box, tuples, box.every, box.every)
