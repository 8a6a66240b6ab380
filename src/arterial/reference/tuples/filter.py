"""What Filter means."""

from __future__ import annotations

from arterial.boxes.tuples.filter import OTHERWISE, Filter
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, condition_text, listed, passed_on, place_of
from arterial.reference.parts.stream import Tuples, condition


def filter(box: Filter, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """True goes out, everything else otherwise."""
    test = condition(box.predicate, box.name, box.fed_by[IN].schema)
    out: dict[str, Tuples] = {OUT: [], OTHERWISE: []}
    for values in inputs[IN]:
        out[OUT if test(values) else OTHERWISE].append(values)
    return out


def because(box: Filter, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself, and the values that the condition reads."""
    values = outputs[port][place]
    stream = box.fed_by[IN]
    names = [name for name in stream.schema.names if name in box.reads(stream)]
    seen = f": {listed(values, names)}" if names else ""
    return Because(
        {IN: (place_of(inputs[IN], values),)},
        f"{condition_text(box.predicate)} is {'true' if port == OUT else 'not true'}{seen}",
    )


scope = passed_on
"""Each tuple by itself."""
