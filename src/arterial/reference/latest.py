"""What Latest means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.latest import Latest
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.network.signed import row_columns
from arterial.reference.signed import Change, Multiset, Row, by_instant, difference, told
from arterial.reference.stream import Tuples, condition, group_of


def latest(box: Latest, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The last tuple of each key, at each instant at which one comes or one has been silent for too long."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    silence = None if box.timeout is None else units(box.timeout, stream.schema[stream.time], "timeout")
    remove = condition(box.delete or "false", box.name, stream.schema)
    arrived = by_instant(inputs[IN], stream.time)
    times = {t + silence for t in arrived} | set(arrived) if silence is not None else set(arrived)
    last: dict[tuple[Any, ...], tuple[int, Row]] = {}
    before = Multiset(row_columns(stream))
    changes: list[Change] = []
    for t in sorted(times):
        for values in arrived.get(t, []):
            last.pop(group_of(values, box.by), None)
            if not remove(values):
                last[group_of(values, box.by)] = (t, values)
        if silence is not None:
            last = {key: (since, values) for key, (since, values) in last.items() if since + silence > t}
        now = Multiset(row_columns(stream))
        for _, values in last.values():
            now.add(values, 1)
        changes += difference(t, before, now)
        before = now
    return {OUT: told(changes, out)}
