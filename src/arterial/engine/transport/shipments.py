"""Shipments as bytes: a header that lists the parcels, and the tuples of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from arterial.connectors.source import Position, Progress, Span
from arterial.engine.plan.plan import Channel
from arterial.engine.transport.framing import frame, unframe
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.tuples import Hint, narrow, pack_tuples, unpack_tuples, widen
from arterial.figures.steering import Steering
from arterial.network.train import Train

SHIPMENT = b"AC1\n"


@dataclass(frozen=True)
class Shipment:
    """The parcels from one slot to another slot of one later level, in one step."""

    step: int
    level: int
    born: float
    """When the oldest tuple in it was read, in seconds since 1970; what delay is measured against."""
    parcels: tuple[Parcel, ...]
    steering: Steering = field(default_factory=Steering)
    """How the step runs: the version of the network, what is left out, held back and shown."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """What the receiver reads itself, of the sources that deliver by slot."""


def pack(shipment: Shipment, channels: Mapping[int, Channel], *, narrowed: bool = True) -> list[Any]:
    """A shipment as bytes in several parts, which are not put together yet."""
    parts: list[Any] = []
    listed = []
    for parcel in shipment.parcels:
        packed: Any = b""
        hints: list[Hint] = []
        if len(parcel.train):
            schema = channels[parcel.channel].stream.schema
            tuples, hints = narrow(parcel.train.tuples, schema) if narrowed else (parcel.train.tuples, [])
            packed = pack_tuples(tuples, schema, hints)
        parts.append(packed)
        listed.append([parcel.channel, parcel.sender, parcel.receiver, parcel.train.through, hints, len(packed)])
    header = {
        "step": shipment.step,
        "level": shipment.level,
        "steering": shipment.steering.as_json(),
        "born": shipment.born,
        "spans": {name: _as_list(span) for name, span in shipment.spans.items()},
        "parcels": listed,
    }
    return frame(SHIPMENT, header, parts)


def unpack(packed: bytes | pa.Buffer, channels: Mapping[int, Channel]) -> Shipment:
    """The shipment that was packed; its tuples lie in the given bytes."""
    header, parts = unframe(packed, lambda header: [length for *_, length in header["parcels"]])
    parcels = []
    for (channel, sender, receiver, through, hints, _), part in zip(header["parcels"], parts, strict=True):
        schema = channels[channel].stream.schema
        tuples = widen(unpack_tuples(part, schema, hints), schema, hints)
        parcels.append(Parcel(channel, sender, receiver, Train(tuples, through)))
    steering = Steering.from_json(header["steering"])
    spans = {name: _as_span(*listed) for name, listed in header["spans"].items()}
    return Shipment(header["step"], header["level"], header["born"], tuple(parcels), steering, spans)


def _as_list(span: Span) -> list[Any]:
    return [span.before.position, span.before.through, span.after.position, span.after.through]


def _as_span(begin: Position, begin_through: int, end: Position, end_through: int) -> Span:
    return Span(Progress(begin, begin_through), Progress(end, end_through))
