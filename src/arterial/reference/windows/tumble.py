"""What Tumble means."""

from __future__ import annotations

import math

from arterial.boxes.windows.tumble import Tumble
from arterial.network.box import IN
from arterial.reference.parts.causes import Because, Region, shown_instant
from arterial.reference.parts.stream import Tuples
from arterial.reference.parts.windows import (
    Window,
    by_time_windows,
    by_tuples,
    computed,
    in_order_of_end,
    length_of,
    window_because,
)


def tumble(box: Tumble, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Disjoint windows are windows that advance by their own length."""
    return computed(box, inputs[IN], _windows(box, inputs[IN]), by_tuples=box.size is not None)


def because(box: Tumble, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuples of the window."""
    window, stream = in_order_of_end(_windows(box, inputs[IN]))[place], box.fed_by[IN]
    if window.start is None:
        what = f"{box.size} tuples in a row"
    else:
        what = f"the window from {shown_instant(window.start, stream)} through {shown_instant(window.end, stream)}"
    return window_because(box, inputs[IN], window, what, outputs, place)


def scope(box: Tumble, port: str, region: Region) -> dict[str, Region]:
    """The group's tuples in the window; all before, where windows count tuples."""
    stream = box.fed_by[IN]
    begin = -math.inf if box.size is not None else region.begin - length_of(box.every, stream) + 1
    return {IN: region.between(begin, region.end, stream.keyed_by)}


def _windows(box: Tumble, tuples: Tuples) -> list[Window]:
    if box.size is not None:
        return by_tuples(box, tuples, box.size, box.size)
    return by_time_windows(box, tuples, box.every, box.every)
