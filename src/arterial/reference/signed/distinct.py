"""What Distinct means."""

from __future__ import annotations

from arterial.boxes.signed.distinct import Distinct
from arterial.network.box import IN, OUT, SIGN
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, Region, so_far
from arterial.reference.parts.signed import Multiset, led_through, places_so_far, signed_because, standing_at
from arterial.reference.parts.stream import Tuples, instant


def distinct(box: Distinct, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At the end of each instant every row that stands stands once."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    states = ((t, _once(rows)) for t, rows in standing_at(inputs[IN], stream, row_columns(out)))
    return {OUT: led_through(states, out)}


def because(box: Distinct, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All changes of the row so far."""
    made, out = outputs[OUT][place], box.streams(box.fed_by)[OUT]
    used = places_so_far(inputs[IN], box.fed_by[IN], made, row_columns(out), instant(made, out.time))
    words = "it stands at least once" if made[SIGN] > 0 else "it stands no more"
    return signed_because({IN: used}, made, words)


def scope(box: Distinct, port: str, region: Region) -> dict[str, Region]:
    """All of the row so far."""
    return {IN: so_far(region, row_columns(box.fed_by[IN]))}


def _once(rows: Multiset) -> Multiset:
    now = Multiset(rows.columns)
    for row, _ in rows.standing():
        now.add(row, 1)
    return now
