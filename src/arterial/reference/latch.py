"""What Latch means."""

from __future__ import annotations

from arterial.boxes.latch import Latch
from arterial.network.box import IN, OUT
from arterial.reference.stream import Tuples, by_time, grouped, instant
from arterial.reference.windows import length_of, plan_of, window_tuple


def latch(box: Latch, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """After each window with tuples of a group, the values over all the group's tuples so far."""
    stream = box.fed_by[IN]
    plan = plan_of(stream, box.values)
    made: Tuples = []
    for tuples in grouped(inputs[IN], stream.keyed_by).values():
        for i, values in enumerate(tuples):
            if box.size is not None:
                if (i + 1) % box.size == 0:
                    made.append(window_tuple(box.name, stream, plan, tuples[: i + 1], instant(values, stream.time)))
                continue
            every = length_of(box.every, stream)
            window = instant(values, stream.time) // every
            if i + 1 == len(tuples) or instant(tuples[i + 1], stream.time) // every != window:
                made.append(window_tuple(box.name, stream, plan, tuples[: i + 1], (window + 1) * every - 1))
    return {OUT: by_time(made, stream.time)}
