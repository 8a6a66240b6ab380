"""What Deduplicate means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.deduplicate import Deduplicate
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.reference.stream import Tuples, group_of, instant


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
