"""What Union means."""

from __future__ import annotations

from arterial.boxes.union import Union
from arterial.network.box import OUT
from arterial.reference.stream import Tuples, by_time


def union(box: Union, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """One input after the other, then in the order of time: ties are in the order of the inputs."""
    everything = [values for port in box.inputs for values in inputs[port]]
    return {OUT: by_time(everything, box.fed_by["in0"].time)}
