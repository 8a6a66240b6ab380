"""What Deduplicate means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.tuples.deduplicate import Deduplicate
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.reference.parts.causes import Because, Region, listed, place_of, shown_instant, so_far
from arterial.reference.parts.stream import Tuples, group_of, instant


def deduplicate(box: Deduplicate, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """A tuple passes unless one of its key passed at most `within` before."""
    stream = box.fed_by[IN]
    within = units(box.within, stream.schema[stream.time], "within", least=0)
    passed: dict[tuple[Any, ...], int] = {}
    out: Tuples = []
    for values in inputs[IN]:
        key, now = group_of(values, (*stream.keyed_by, *box.key)), instant(values, stream.time)
        if key not in passed or now - passed[key] > within:
            passed[key] = now
            out.append(values)
    return {OUT: out}


def because(box: Deduplicate, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself, and what passed of its key before it."""
    stream = box.fed_by[IN]
    passed = outputs[OUT]
    values, keys = passed[place], (*stream.keyed_by, *box.key)
    earlier = [one for one in passed[:place] if group_of(one, keys) == group_of(values, keys)]
    before = "is the first"
    if earlier:
        last = shown_instant(instant(earlier[-1], stream.time), stream)
        before = f"comes more than {box.within} after the last one that passed, at {last},"
    return Because({IN: (place_of(inputs[IN], values),)}, f"{before} with {listed(values, keys)}")


def scope(box: Deduplicate, port: str, region: Region) -> dict[str, Region]:
    """All of its key before it: whether one passes depends on the one before that passed."""
    return {IN: so_far(region, (*box.fed_by[IN].keyed_by, *box.key))}
