"""What GroupBy means."""

from __future__ import annotations

from arterial.boxes.tuples.group_by import GroupBy
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, listed, passed_on, place_of
from arterial.reference.parts.stream import Tuples, instant, value_order


def group_by(box: GroupBy, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The same tuples. Ties that come out of several old groups are put in the order of their values."""
    stream = box.fed_by[IN]
    if set(stream.keyed_by) <= set(box.columns):
        return {OUT: inputs[IN]}
    names = stream.schema.names
    return {OUT: sorted(inputs[IN], key=lambda t: (instant(t, stream.time), [value_order(t[name]) for name in names]))}


def because(box: GroupBy, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself."""
    values = outputs[port][place]
    of = f"belongs to the group {listed(values, box.columns)}" if box.columns else "belongs to no group from here on"
    return Because({IN: (place_of(inputs[IN], values),)}, of)


scope = passed_on
"""Each tuple by itself. The order of ties is that of their values, so others make no difference."""
