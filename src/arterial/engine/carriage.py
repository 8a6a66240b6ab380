"""How a consignment crosses Spark: as a ticket for shared memory, as a row, or in pieces."""

from __future__ import annotations

from collections.abc import Iterable

from arterial.engine.handover import TICKET, fetch, hand_over
from arterial.engine.packing import Consignment, pack, unpack
from arterial.engine.pieces import cut, whole
from arterial.engine.work import Work


def to_rows(work: Work, consignment: Consignment, sender: int) -> list[bytes]:
    """A consignment as rows of Spark; the sender is one of a kind among those that send to the slot in a step."""
    # Narrow columns save copies, of which there are few in shared memory.
    packed = pack(consignment, work.channels, narrowed=not work.memory)
    ticket = hand_over(work.memory, consignment.level, consignment.version, packed)
    return [ticket] if ticket else cut(b"".join(packed), consignment.level, consignment.version, sender)


def from_rows(work: Work, rows: Iterable[bytes]) -> list[Consignment]:
    """The consignments that rows brought to a slot of a level."""
    brought = (fetch(work.memory, row) if row[:4] == TICKET else row for row in whole(rows))
    return [unpack(packed, work.channels) for packed in brought]
