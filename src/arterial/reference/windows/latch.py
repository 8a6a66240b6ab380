"""What Latch means."""

from __future__ import annotations

from arterial.boxes.windows.latch import Latch
from arterial.network.box import IN
from arterial.reference.parts.causes import Because, group_so_far, shown_instant
from arterial.reference.parts.stream import Tuples, instant
from arterial.reference.parts.windows import (
    Window,
    computed,
    grouped_places,
    in_order_of_end,
    length_of,
    window_because,
)


def latch(box: Latch, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """After each window with tuples of a group, the values over all the group's tuples so far."""
    return computed(box, inputs[IN], _windows(box, inputs[IN]), by_tuples=False)


def because(box: Latch, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All tuples so far."""
    window = in_order_of_end(_windows(box, inputs[IN]))[place]
    what = f"everything through {shown_instant(window.end, box.fed_by[IN])}"
    return window_because(box, window, what, outputs, place)


scope = group_so_far
"""All of the group so far."""


def _windows(box: Latch, tuples: Tuples) -> list[Window]:
    stream = box.fed_by[IN]
    made = []
    for places in grouped_places(tuples, stream.keyed_by):
        times = [instant(tuples[i], stream.time) for i in places]
        for i, time in enumerate(times):
            if box.size is not None:
                if (i + 1) % box.size == 0:
                    made.append(Window(places[: i + 1], time))
                continue
            every = length_of(box.every, stream)
            if i + 1 == len(times) or times[i + 1] // every != time // every:
                made.append(Window(places[: i + 1], (time // every + 1) * every - 1))
    return made
