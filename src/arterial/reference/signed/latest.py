"""What Latest means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.signed.latest import Latest
from arterial.network.box import IN, OUT, SIGN
from arterial.network.duration import units
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, Region, listed, shown_instant, so_far
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, group_of, instant, value_order


def latest(box: Latest, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At each instant at which anything can change, the whole relation, and how it differs from the one before."""
    stream = box.fed_by[IN]
    kind = stream.schema[stream.time]
    timeout = None if box.timeout is None else units(box.timeout, kind, "timeout", least=1)
    columns = row_columns(stream)
    told: dict[Any, dict[str, Any]] = {}
    before: dict[Any, dict[str, Any]] = {}
    made: Tuples = []
    times = {instant(values, stream.time) for values in inputs[IN]}
    for t in sorted(times | {t + timeout for t in times} if timeout is not None else times):
        for values in inputs[IN]:
            if instant(values, stream.time) == t:
                told[group_of(values, box.key)] = values
        now = {
            key: values for key, values in told.items() if timeout is None or t - instant(values, stream.time) < timeout
        }
        changes = []
        for key in before.keys() | now.keys():
            old, new = before.get(key), now.get(key)
            if old and new and group_of(old, columns) == group_of(new, columns):
                continue
            changes += [(old, -1)] if old else []
            changes += [(new, 1)] if new else []
        changes.sort(key=lambda change: ([value_order(change[0][name]) for name in box.key], change[1]))
        time = instant_to_value(t, kind)
        made += [{**values, stream.time: time, SIGN: sign} for values, sign in changes]
        before = now
    return {OUT: made}


def because(box: Latest, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The report that holds from now on, or the one that held until now and what took its place."""
    stream, made = box.fed_by[IN], outputs[OUT][place]
    now, same = instant(made, stream.time), group_of(made, box.key)
    places = [i for i, one in enumerate(inputs[IN]) if group_of(one, box.key) == same]
    at = [i for i in places if instant(inputs[IN][i], stream.time) == now]
    before = [i for i in places if instant(inputs[IN][i], stream.time) < now]
    of = listed(made, box.key)
    if made[SIGN] > 0:
        return Because({IN: tuple(at[-1:])}, f"is the latest of {of}")
    old = before[-1:]
    held = shown_instant(instant(inputs[IN][old[0]], stream.time), stream)
    if at:
        return Because({IN: (*old, at[-1])}, f"the one of {held} was the latest of {of} until another came")
    return Because({IN: tuple(old)}, f"the one of {held} was the latest of {of}; none came for {box.timeout}")


def scope(box: Latest, port: str, region: Region) -> dict[str, Region]:
    """All of the key so far."""
    return {IN: so_far(region, box.key)}
