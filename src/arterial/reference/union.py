"""What Union means."""

from __future__ import annotations

from arterial.boxes.union import Union
from arterial.network.box import OUT, SIGN
from arterial.reference.stream import Tuples, by_time


def union(box: Union, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """One input after the other, then in the order of time: ties are in the order of the inputs."""
    everything = [values for port in box.inputs for values in inputs[port]]
    if any(stream.signed for stream in box.fed_by.values()):
        everything = [values if SIGN in values else values | {SIGN: 1} for values in everything]
    return {OUT: by_time(everything, box.fed_by["in0"].time)}
