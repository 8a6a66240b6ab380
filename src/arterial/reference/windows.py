"""What windows mean: every window is the list of its tuples. Shared by Tumble, Slide and Latch."""

from __future__ import annotations

from typing import Any

from arterial.boxes.slide import Slide
from arterial.boxes.tumble import Tumble
from arterial.network.box import IN, OUT, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Aggregation, Values, aggregation
from arterial.reference.aggregates import window_values
from arterial.reference.scalar import instant_to_value
from arterial.reference.stream import Tuples, by_time, grouped, instant


def by_time_windows(
    box: Tumble | Slide, values: Values, tuples: Tuples, over: Duration | None, every: Duration | None
) -> dict[str, Tuples]:
    """For each group, every window up to the last that has a tuple of it."""
    stream = box.fed_by[IN]
    plan = plan_of(stream, values)
    length, step = length_of(over, stream), length_of(every, stream)
    made: Tuples = []
    for group in grouped(tuples, stream.keyed_by).values():
        first, last = instant(group[0], stream.time), instant(group[-1], stream.time)
        for number in range(first // step, (last + length) // step):
            end = (number + 1) * step - 1
            inside = [t for t in group if end - length < instant(t, stream.time) <= end]
            if inside:
                start = instant_to_value(end - length + 1, stream.schema[stream.time])
                made.append(window_tuple(box.name, stream, plan, inside, end, start))
    return {OUT: by_time(made, stream.time)}


def by_tuples(box: Tumble | Slide, values: Values, tuples: Tuples, size: int, advance: int) -> dict[str, Tuples]:
    """For each group, every full window."""
    stream = box.fed_by[IN]
    plan = aggregation(values, stream.schema, stream.keyed_by, stream.time, by_tuples=True)
    made: Tuples = []
    for group in grouped(tuples, stream.keyed_by).values():
        for begin in range(0, len(group) - size + 1, advance):
            inside = group[begin : begin + size]
            made.append(window_tuple(box.name, stream, plan, inside, instant(inside[-1], stream.time)))
    return {OUT: by_time(made, stream.time)}


def window_tuple(
    box: str, stream: Stream, plan: Aggregation, inside: Tuples, end: int, start: Any = None
) -> dict[str, Any]:
    """The tuple of a window that ends then."""
    values = {key: inside[0][key] for key in stream.keyed_by}
    values[stream.time] = instant_to_value(end, stream.schema[stream.time])
    return values | window_values(box, plan, stream.keyed_by, stream.schema, inside, start)


def plan_of(stream: Stream, values: Values) -> Aggregation:
    """What is to be computed."""
    return aggregation(values, stream.schema, stream.keyed_by, stream.time)


def length_of(duration: Duration | None, stream: Stream) -> int:
    """A duration in the unit of the stream's time."""
    assert duration is not None
    return units(duration, stream.schema[stream.time], "window")
