"""What Previous means."""

from __future__ import annotations

import math
from typing import Any

from arterial.boxes.joins.previous import Previous
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.network.expression.parser import parse
from arterial.reference.parts.causes import Because, Region, group_in_words, listed
from arterial.reference.parts.scalar import scalar
from arterial.reference.parts.stream import Tuples, group_of, instant


def previous(box: Previous, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Each tuple beside the last one of its group, unless that is too long ago."""
    stream = box.fed_by[IN]
    within = None if box.within is None else units(box.within, stream.schema[stream.time], "within", least=0)
    values_of = {name: scalar(parse(text, stream.schema)) for name, text in box.values}
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    out: Tuples = []
    for values in inputs[IN]:
        group, now = group_of(values, stream.keyed_by), instant(values, stream.time)
        before = last.get(group)
        if before is not None and within is not None and now - instant(before, stream.time) > within:
            before = None
        out.append(values | {name: None if before is None else value(before) for name, value in values_of.items()})
        last[group] = values
    return {OUT: out}


def because(box: Previous, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple, and the one before it."""
    stream, values = box.fed_by[IN], inputs[IN][place]
    said = f"{listed(outputs[OUT][place], (name for name, _ in box.values))}, as the tuple before it"
    of = group_in_words(values, stream)
    for i in range(place - 1, -1, -1):
        before = inputs[IN][i]
        if group_of(before, stream.keyed_by) != group_of(values, stream.keyed_by):
            continue
        gap = instant(values, stream.time) - instant(before, stream.time)
        if box.within is None or gap <= units(box.within, stream.schema[stream.time], "within", least=0):
            return Because({IN: (i, place)}, f"{said}{of} was")
        break
    within = "" if box.within is None else f" within {box.within}"
    return Because({IN: (place,)}, f"there is no tuple before it{of}{within}")


def scope(box: Previous, port: str, region: Region) -> dict[str, Region]:
    """The group's tuples that are not too long ago."""
    stream = box.fed_by[IN]
    begin = -math.inf
    if box.within is not None:
        begin = region.begin - units(box.within, stream.schema[stream.time], "within", least=0)
    return {IN: region.between(begin, region.end, stream.keyed_by)}
