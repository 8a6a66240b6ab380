"""What Leaders means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arterial.boxes.signed.leaders import Leaders
from arterial.network.box import IN, OUT, SIGN
from arterial.network.expression.parser import parse
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, group_in_words, group_so_far, shown
from arterial.reference.parts.scalar import scalar
from arterial.reference.parts.signed import Multiset, Row, led_through, places_so_far, signed_because, standing_at
from arterial.reference.parts.stream import Tuples, grouped, instant, value_order


def leaders(box: Leaders, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At the end of each instant, sort the rows of each group that stand, and take the first k."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    by = scalar(parse(box.by, stream.schema))
    states = ((t, _first(box, rows, by)) for t, rows in standing_at(inputs[IN], stream, row_columns(stream)))
    return {OUT: led_through(states, out)}


def because(box: Leaders, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All changes of the group so far."""
    stream, made = box.fed_by[IN], outputs[OUT][place]
    used = places_so_far(inputs[IN], stream, made, stream.keyed_by, instant(made, stream.time))
    value = shown(scalar(parse(box.by, stream.schema))(made))
    where = "is" if made[SIGN] > 0 else "is no longer"
    words = f"with {box.by} = {value} it {where} among the first {box.k}{group_in_words(made, stream)}"
    return signed_because({IN: used}, made, words)


scope = group_so_far
"""All of the group so far."""


def _first(box: Leaders, rows: Multiset, by: Callable[[Row], Any]) -> Multiset:
    now = Multiset(rows.columns)
    listed = [row for row, count in rows.standing() for _ in range(count) if by(row) is not None]
    for group in grouped(listed, box.fed_by[IN].keyed_by).values():
        group.sort(key=lambda row: [value_order(row[name]) for name in rows.columns])
        group.sort(key=lambda row: value_order(by(row)), reverse=not box.ascending)
        for row in group[: box.k]:
            now.add(row, 1)
    return now
