"""What Session means."""

from __future__ import annotations

import math

from arterial.boxes.windows.session import Session
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, Region, shown_instant
from arterial.reference.parts.stream import Tuples, instant
from arterial.reference.parts.windows import (
    Window,
    computed,
    grouped_places,
    in_order_of_end,
    length_of,
    window_because,
)


def session(box: Session, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """A tuple more than `gap` after the one before it in its group begins a session."""
    sessions = _sessions(box, inputs[IN])
    made = computed(box, inputs[IN], sessions, by_tuples=True)
    if not box.tuples:
        return made
    each = zip(in_order_of_end(sessions), made[OUT], strict=True)
    return {OUT: [inputs[IN][place] | values for one, values in each for place in one.places]}


def because(box: Session, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuples of the session."""
    sessions, stream = in_order_of_end(_sessions(box, inputs[IN])), box.fed_by[IN]
    found = ([one for one in sessions for _ in one.places] if box.tuples else sessions)[place]
    first = instant(inputs[IN][found.places[0]], stream.time)
    what = f"the session from {shown_instant(first, stream)} through {shown_instant(found.end, stream)}"
    return window_because(box, found, what, outputs, place)


def scope(box: Session, port: str, region: Region) -> dict[str, Region]:
    """All of the group so far, and what would have made the session longer."""
    stream = box.fed_by[IN]
    return {IN: region.between(-math.inf, region.end + length_of(box.gap, stream), stream.keyed_by)}


def _sessions(box: Session, tuples: Tuples) -> list[Window]:
    stream = box.fed_by[IN]
    gap = length_of(box.gap, stream)
    sessions: list[list[int]] = []
    for places in grouped_places(tuples, stream.keyed_by):
        for i, place in enumerate(places):
            time = instant(tuples[place], stream.time)
            if i == 0 or time - instant(tuples[places[i - 1]], stream.time) > gap:
                sessions.append([])
            sessions[-1].append(place)
    return [Window(inside, instant(tuples[inside[-1]], stream.time)) for inside in sessions]
