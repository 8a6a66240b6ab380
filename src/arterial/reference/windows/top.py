"""What Top means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.windows.top import Top
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import parse
from arterial.reference.parts.causes import Because, Region, counted, group_in_words, shown, shown_instant
from arterial.reference.parts.scalar import instant_to_value, scalar
from arterial.reference.parts.stream import Tuples, instant, value_order
from arterial.reference.parts.windows import Window, grouped_places, length_of


def top(box: Top, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Sort the tuples of each group and window, and take the first k."""
    return {OUT: [made for made, _, _ in _leading(box, inputs[IN])]}


def because(box: Top, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple, and all with which it was compared."""
    stream = box.fed_by[IN]
    made, window, values = _leading(box, inputs[IN])[place]
    begin, end = (shown_instant(t, stream) for t in (window.start or 0, window.end))
    words = (
        f"place {made[box.rank]} of {counted(len(window.places))}{group_in_words(made, stream)} by {box.by} in the "
        f"window from {begin} through {end}: {box.by} = {shown(scalar(parse(box.by, stream.schema))(values))}"
    )
    return Because({IN: tuple(window.places)}, words)


def scope(box: Top, port: str, region: Region) -> dict[str, Region]:
    """The group's tuples in the window."""
    stream = box.fed_by[IN]
    return {IN: region.between(region.begin - length_of(box.every, stream) + 1, region.end, stream.keyed_by)}


def _leading(box: Top, tuples: Tuples) -> list[tuple[dict[str, Any], Window, dict[str, Any]]]:
    """Each tuple that leaves, its window, and the tuple that it was."""
    stream = box.fed_by[IN]
    every, by = length_of(box.every, stream), scalar(parse(box.by, stream.schema))
    names = [name for name in stream.schema.names if name != stream.time]
    made = []
    for places in grouped_places(tuples, stream.keyed_by):
        group = [i for i in places if by(tuples[i]) is not None]
        for window in sorted({instant(tuples[i], stream.time) // every for i in group}):
            inside = [i for i in group if instant(tuples[i], stream.time) // every == window]
            inside.sort(key=lambda i: [value_order(tuples[i][name]) for name in names])
            inside.sort(key=lambda i: value_order(by(tuples[i])), reverse=not box.ascending)
            last = (window + 1) * every - 1
            end = instant_to_value(last, stream.schema[stream.time])
            among = Window(inside, last, window * every)
            made += [
                (tuples[i] | {stream.time: end, box.rank: rank}, among, tuples[i])
                for rank, i in enumerate(inside[: box.k], 1)
            ]
    return sorted(made, key=lambda one: one[1].end)
