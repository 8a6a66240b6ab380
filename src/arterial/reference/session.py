"""What Session means."""

from __future__ import annotations

from arterial.boxes.session import Session
from arterial.network.box import IN, OUT
from arterial.network.expression.aggregate import aggregation
from arterial.reference.stream import Tuples, by_time, grouped, instant
from arterial.reference.windows import length_of, window_tuple


def session(box: Session, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """A tuple more than `gap` after the one before it in its group begins a session."""
    stream = box.fed_by[IN]
    gap, time = length_of(box.gap, stream), stream.time
    plan = aggregation(box.values, stream.schema, stream.keyed_by, time, by_tuples=True)
    sessions: list[Tuples] = []
    for tuples in grouped(inputs[IN], stream.keyed_by).values():
        for i, values in enumerate(tuples):
            if i == 0 or instant(values, time) - instant(tuples[i - 1], time) > gap:
                sessions.append([])
            sessions[-1].append(values)
    made = [window_tuple(box.name, stream, plan, inside, instant(inside[-1], time)) for inside in sessions]
    return {OUT: by_time(made, time)}
