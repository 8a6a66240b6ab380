"""What GroupBy means."""

from __future__ import annotations

from arterial.boxes.group_by import GroupBy
from arterial.network.box import IN, OUT
from arterial.reference.stream import Tuples, instant, value_order


def group_by(box: GroupBy, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The same tuples. Ties that come out of several old groups are put in the order of their values."""
    stream = box.fed_by[IN]
    if set(stream.keyed_by) <= set(box.columns):
        return {OUT: inputs[IN]}
    names = stream.schema.names
    return {OUT: sorted(inputs[IN], key=lambda t: (instant(t, stream.time), [value_order(t[name]) for name in names]))}
