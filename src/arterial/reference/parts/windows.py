"""What windows mean: every window is the list of its tuples. Shared by Tumble, Slide, Latch and Session."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from arterial.boxes.windows.slide import Slide
from arterial.boxes.windows.tumble import Tumble
from arterial.network.box import IN, OUT, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Aggregation, aggregation
from arterial.network.expression.function import Function
from arterial.reference.parts.aggregates import window_values
from arterial.reference.parts.causes import (
    Because,
    Region,
    condition_text,
    counted,
    group_in_words,
    listed,
    shown,
    shown_instant,
)
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, group_of, instant


class Window(NamedTuple):
    """The tuples of a window, by their places and in order; when it ends, and if it has one, its beginning."""

    places: list[int]
    end: int
    start: int | None = None


def by_time_windows(box: Tumble | Slide, tuples: Tuples, over: Duration | None, every: Duration | None) -> list[Window]:
    """For each group, every window up to the last that has a tuple of it."""
    stream = box.fed_by[IN]
    length, step = length_of(over, stream), length_of(every, stream)
    made = []
    for places in grouped_places(tuples, stream.keyed_by):
        times = [instant(tuples[i], stream.time) for i in places]
        for number in range(times[0] // step, (times[-1] + length) // step):
            end = (number + 1) * step - 1
            inside = [i for i, t in zip(places, times, strict=True) if end - length < t <= end]
            if inside:
                made.append(Window(inside, end, end - length + 1))
    return made


def by_tuples(box: Tumble | Slide, tuples: Tuples, size: int, advance: int) -> list[Window]:
    """For each group, every full window."""
    stream = box.fed_by[IN]
    made = []
    for places in grouped_places(tuples, stream.keyed_by):
        for begin in range(0, len(places) - size + 1, advance):
            inside = places[begin : begin + size]
            made.append(Window(inside, instant(tuples[inside[-1]], stream.time)))
    return made


def computed(box: Any, tuples: Tuples, windows: list[Window], *, by_tuples: bool) -> dict[str, Tuples]:
    """The tuples of all windows."""
    stream = box.fed_by[IN]
    plan = aggregation(box.values, stream.schema, stream.keyed_by, stream.time, by_tuples=by_tuples)
    return {
        OUT: [
            window_tuple(box.name, stream, plan, [tuples[i] for i in window.places], window.end, window.start)
            for window in in_order_of_end(windows)
        ]
    }


def in_order_of_end(windows: list[Window]) -> list[Window]:
    """The windows as their tuples leave."""
    return sorted(windows, key=lambda window: window.end)


def because_of(
    box: Tumble | Slide, windows: list[Window], by_tuples: str, outputs: dict[str, Tuples], place: int
) -> Because:
    """The tuples of the window that made an output; `by_tuples` names a window that counts them."""
    window, stream = in_order_of_end(windows)[place], box.fed_by[IN]
    if window.start is None:
        what = by_tuples
    else:
        what = f"the window from {shown_instant(window.start, stream)} through {shown_instant(window.end, stream)}"
    return window_because(box, window, what, outputs, place)


def scope_of(box: Tumble | Slide, over: Duration | None, region: Region) -> dict[str, Region]:
    """The group's tuples in windows that end in a region; all before, where windows count tuples."""
    stream = box.fed_by[IN]
    begin = -math.inf if box.size is not None else region.begin - length_of(over, stream) + 1
    return {IN: region.between(begin, region.end, stream.keyed_by)}


def window_because(box: Any, window: Window, what: str, outputs: dict[str, Tuples], place: int) -> Because:
    """All tuples of the window; what was computed of them."""
    stream = box.fed_by[IN]
    made = outputs[OUT][place]
    texts = []
    for name, value in box.values:
        if isinstance(value, Function):
            results = [field.name or name for field in value.produces]
            texts.append(f"{condition_text(value)} gives {listed(made, results)}")
        else:
            texts.append(f"{name} = {value} = {shown(made[name])}")
    group = group_in_words(made, stream)
    words = f"{what}{group}, {counted(len(window.places))}: {'; '.join(texts)}"
    return Because({IN: tuple(window.places)}, words)


def grouped_places(tuples: Tuples, keys: tuple[str, ...]) -> list[list[int]]:
    """The places of the tuples of each group, in their order."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, values in enumerate(tuples):
        groups.setdefault(group_of(values, keys), []).append(place)
    return list(groups.values())


def window_tuple(
    box: str, stream: Stream, plan: Aggregation, inside: Tuples, end: int, start: int | None = None
) -> dict[str, Any]:
    """The tuple of a window that ends then."""
    kind = stream.schema[stream.time]
    values = {key: inside[0][key] for key in stream.keyed_by}
    values[stream.time] = instant_to_value(end, kind)
    began = None if start is None else instant_to_value(start, kind)
    return values | window_values(box, plan, stream.keyed_by, stream.schema, inside, began)


def length_of(duration: Duration | None, stream: Stream) -> int:
    """A duration in the unit of the stream's time."""
    assert duration is not None
    return units(duration, stream.schema[stream.time], "window")
