"""What Drop means."""

from __future__ import annotations

import struct

from arterial.boxes.tuples.drop import Drop
from arterial.network.box import IN, OUT
from arterial.network.keys.hashing import GOLDEN, MASK, MIX_1, MIX_2, NOT_A_NUMBER, NULL
from arterial.reference.parts.causes import Because, passed_on, place_of
from arterial.reference.parts.scalar import value_to_instant
from arterial.reference.parts.stream import Tuples


def drop(box: Drop, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """A tuple goes if the hash of its values is below rate · 2⁶⁴."""
    columns = box.fed_by[IN].schema.names
    return {OUT: [t for t in inputs[IN] if _hash([t[c] for c in columns], box.seed) >= box.threshold]}


def _hash(values: list[object], seed: int) -> int:
    h = seed & MASK
    for value in values:
        h = _mix((h + _word(value) + GOLDEN) & MASK)
    return h


def _word(value: object) -> int:
    if value is None:
        return NULL
    if isinstance(value, str):
        h = 0xCBF29CE484222325
        for letter in value.encode():
            h = (h ^ letter) * 0x100000001B3 & MASK
        return h
    if isinstance(value, float):
        return NOT_A_NUMBER if value != value else int(struct.unpack("<Q", struct.pack("<d", value + 0.0))[0])
    return value_to_instant(value) & MASK


def _mix(x: int) -> int:
    x ^= x >> 30
    x = x * MIX_1 & MASK
    x ^= x >> 27
    x = x * MIX_2 & MASK
    return x ^ x >> 31


def because(box: Drop, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself."""
    values = outputs[port][place]
    return Because(
        {IN: (place_of(inputs[IN], values),)}, f"is in the sample: {box.rate:.0%} are left out by their hash"
    )


scope = passed_on
"""Each tuple by itself."""
