"""What Union means."""

from __future__ import annotations

from arterial.boxes.tuples.union import Union
from arterial.network.box import OUT, SIGN
from arterial.reference.parts.causes import Because, passed_on
from arterial.reference.parts.stream import Tuples, by_time, instant


def union(box: Union, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """One input after the other, then in the order of time: ties are in the order of the inputs."""
    everything = [values for port in box.inputs for values in inputs[port]]
    if any(stream.signed for stream in box.fed_by.values()):
        everything = [values if SIGN in values else values | {SIGN: 1} for values in everything]
    return {OUT: by_time(everything, box.fed_by["in0"].time)}


def because(box: Union, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself, and the input that it came by."""
    time = box.fed_by["in0"].time
    places = [(name, i) for name in box.inputs for i in range(len(inputs[name]))]
    name, at = sorted(places, key=lambda one: instant(inputs[one[0]][one[1]], time))[place]
    return Because({name: (at,)}, f"came by the input {name}")


scope = passed_on
"""Each tuple by itself."""
