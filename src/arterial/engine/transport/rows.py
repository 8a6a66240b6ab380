"""How a consignment crosses Spark: as a ticket for shared memory, as a row, or in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arterial.engine.plan.plan import Channel
from arterial.engine.transport.handover import TICKET, fetch, hand_over
from arterial.engine.transport.packing import Consignment, pack, unpack
from arterial.engine.transport.pieces import cut, whole


def to_rows(consignment: Consignment, sender: int, channels: Mapping[int, Channel], memory: str) -> list[bytes]:
    """A consignment as rows of Spark; the sender is one of a kind among those that send to the slot in a step.

    `memory` is the folder in shared memory, or empty where tasks run on several machines.
    """
    # Narrow columns save copies, of which there are few in shared memory.
    packed = pack(consignment, channels, narrowed=not memory)
    ticket = hand_over(memory, consignment.level, consignment.version, packed)
    return [ticket] if ticket else cut(b"".join(packed), consignment.level, consignment.version, sender)


def from_rows(rows: Iterable[bytes], channels: Mapping[int, Channel], memory: str) -> list[Consignment]:
    """The consignments that rows brought to a slot of a level."""
    brought = (fetch(memory, row) if row[:4] == TICKET else row for row in whole(rows))
    return [unpack(packed, channels) for packed in brought]
