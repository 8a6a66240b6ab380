"""What Leaders means."""

from __future__ import annotations

from arterial.boxes.signed.leaders import Leaders
from arterial.network.box import IN, OUT, SIGN
from arterial.network.expression.parser import parse
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, group_in_words, group_so_far, shown
from arterial.reference.parts.scalar import scalar
from arterial.reference.parts.signed import (
    Change,
    Multiset,
    by_instant,
    difference,
    places_so_far,
    signed_because,
    told,
    weight,
)
from arterial.reference.parts.stream import Tuples, grouped, instant, value_order


def leaders(box: Leaders, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At the end of each instant, sort the rows of each group that stand, and take the first k."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    rows, by = row_columns(stream), scalar(parse(box.by, stream.schema))
    stands, first = Multiset(rows), Multiset(rows)
    changes: list[Change] = []
    for t, tuples in by_instant(inputs[IN], stream.time).items():
        for values in tuples:
            stands.add(values, weight(values, stream))
        now = Multiset(rows)
        listed = [row for row, count in stands.standing() for _ in range(count) if by(row) is not None]
        for group in grouped(listed, stream.keyed_by).values():
            group.sort(key=lambda row: [value_order(row[name]) for name in rows])
            group.sort(key=lambda row: value_order(by(row)), reverse=not box.ascending)
            for row in group[: box.k]:
                now.add(row, 1)
        changes += difference(t, first, now)
        first = now
    return {OUT: told(changes, out)}


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
