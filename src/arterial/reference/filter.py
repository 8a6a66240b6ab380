"""What Filter means."""

from __future__ import annotations

from arterial.boxes.filter import OTHERWISE, Filter
from arterial.network.box import IN, OUT
from arterial.reference.stream import Tuples, condition


def filter(box: Filter, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """True goes out, everything else otherwise."""
    test = condition(box.predicate, box.name, box.fed_by[IN].schema)
    out: dict[str, Tuples] = {OUT: [], OTHERWISE: []}
    for values in inputs[IN]:
        out[OUT if test(values) else OTHERWISE].append(values)
    return out
