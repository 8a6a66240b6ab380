"""What BSort means: what Source does to arrivals, it does to any sequence."""

from __future__ import annotations

from arterial.boxes.bsort import BSort
from arterial.network.box import IN
from arterial.network.duration import units
from arterial.reference.source import in_order
from arterial.reference.stream import Tuples


def bsort(box: BSort, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The input in the order of its time, and the tuples that came too late."""
    stream = box.fed_by[IN]
    time = box.time or stream.time
    return in_order(inputs[IN], time, units(box.disorder, stream.schema[time], "disorder", least=0))
