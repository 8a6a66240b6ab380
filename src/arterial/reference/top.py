"""What Top means."""

from __future__ import annotations

from arterial.boxes.top import Top
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import parse
from arterial.reference.scalar import instant_to_value, scalar
from arterial.reference.stream import Tuples, by_time, grouped, instant, value_order
from arterial.reference.windows import length_of


def top(box: Top, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Sort the tuples of each group and window, and take the first k."""
    stream = box.fed_by[IN]
    every, by = length_of(box.every, stream), scalar(parse(box.by, stream.schema))
    names = [name for name in stream.schema.names if name != stream.time]
    made: Tuples = []
    for group in grouped([t for t in inputs[IN] if by(t) is not None], stream.keyed_by).values():
        for window in sorted({instant(t, stream.time) // every for t in group}):
            inside = [t for t in group if instant(t, stream.time) // every == window]
            inside.sort(key=lambda t: [value_order(t[name]) for name in names])
            inside.sort(key=lambda t: value_order(by(t)), reverse=not box.ascending)
            end = instant_to_value((window + 1) * every - 1, stream.schema[stream.time])
            made += [t | {stream.time: end, box.rank: place} for place, t in enumerate(inside[: box.k], 1)]
    return {OUT: by_time(made, stream.time)}
