"""What BSort means: what Source does to arrivals, it does to any sequence."""

from __future__ import annotations

from arterial.boxes.tuples.bsort import BSort
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.reference.ends.source import in_order
from arterial.reference.parts.causes import EVERYTHING, Because, Region, place_of
from arterial.reference.parts.stream import Tuples


def bsort(box: BSort, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The input in the order of its time, and the tuples that came too late."""
    stream = box.fed_by[IN]
    time = box.time or stream.time
    return in_order(inputs[IN], time, units(box.disorder, stream.schema[time], "disorder", least=0))


def because(box: BSort, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself."""
    values = outputs[port][place]
    words = f"in the order of {box.time or box.fed_by[IN].time}" if port == OUT else "came too late"
    return Because({IN: (place_of(inputs[IN], values),)}, words)


def scope(box: BSort, port: str, region: Region) -> dict[str, Region]:
    """Everything: one tuple far ahead makes all others late."""
    return {IN: EVERYTHING}
