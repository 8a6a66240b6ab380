"""What Distinct means."""

from __future__ import annotations

from arterial.boxes.distinct import Distinct
from arterial.network.box import IN, OUT
from arterial.network.signed import row_columns
from arterial.reference.signed import Change, Multiset, by_instant, difference, told, weight
from arterial.reference.stream import Tuples


def distinct(box: Distinct, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At the end of each instant every row that stands stands once."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    rows = row_columns(out)
    stands, once = Multiset(rows), Multiset(rows)
    changes: list[Change] = []
    for t, tuples in by_instant(inputs[IN], stream.time).items():
        for values in tuples:
            stands.add(values, weight(values, stream))
        now = Multiset(rows)
        for row, _ in stands.standing():
            now.add(row, 1)
        changes += difference(t, once, now)
        once = now
    return {OUT: told(changes, out)}
