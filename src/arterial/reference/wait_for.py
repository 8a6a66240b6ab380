"""What WaitFor means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.wait_for import UNMET, UNTIL, WaitFor
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import predicate
from arterial.network.schema import Field, Schema
from arterial.reference.scalar import instant_to_value, scalar
from arterial.reference.stream import Tuples, group_of, instant


def wait_for(box: WaitFor, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Instant by instant: take what the other stream says now, then release whoever waited for it."""
    stream, until = box.fed_by[IN], box.fed_by[UNTIL]
    both = Schema((*stream.schema.fields, *(Field(f"{UNTIL}.{f.name}", f.type) for f in until.schema)))
    test = scalar(predicate(box.predicate, both))
    instants = {instant(t, stream.time) for t in inputs[IN]} | {instant(t, until.time) for t in inputs[UNTIL]}
    latest: dict[tuple[Any, ...], dict[str, Any]] = {}
    waiting: Tuples = []
    released: Tuples = []
    for now in sorted(instants):
        for other in inputs[UNTIL]:
            if instant(other, until.time) == now:
                latest[group_of(other, until.keyed_by)] = {f"{UNTIL}.{name}": v for name, v in other.items()}
        waiting += [values for values in inputs[IN] if instant(values, stream.time) == now]
        still: Tuples = []
        for values in waiting:
            other_values = latest.get(group_of(values, stream.keyed_by))
            if other_values is not None and test(values | other_values):
                released.append(values | {box.time: instant_to_value(now, stream.schema[stream.time])})
            else:
                still.append(values)
        waiting = still
    return {OUT: released, UNMET: waiting}
