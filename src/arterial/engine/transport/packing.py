"""Trains as bytes: how they cross Spark, and how a chunk of state lies in Spark's state store.

A train's tuples are one Arrow record batch without its schema, which both ends know from the plan; decoding copies
nothing. One row of Spark carries everything that one slot sends to another in a step (`Consignment`), or a note for the
driver.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from arterial.connectors.source import Position, Progress, Span
from arterial.engine.plan.plan import Channel
from arterial.engine.transport.handover import TICKET, address_of_ticket
from arterial.engine.transport.narrow import Hint, narrow, narrow_types, widen
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.pieces import PIECE, address_of_piece
from arterial.network.schema import Schema, Type
from arterial.network.state import Chunk
from arterial.network.train import Train

CONSIGNMENT = b"AC1\n"
NOTE = b"AN1\n"
FRAME = b"AD1\n"
"""A note with tuples that leave through a Spark sink."""

_ALIGN = 64
_LENGTH = struct.Struct("<I")
_schemas: dict[object, pa.Schema] = {}


@dataclass(frozen=True)
class Consignment:
    """The parcels from one slot to another slot of one later level, in one step."""

    step: int
    level: int
    born: float
    """When the oldest tuple in it was read, in seconds since 1970; what delay is measured against."""
    parcels: tuple[Parcel, ...]
    version: int = 1
    """The version of the network that it belongs to."""
    spans: Mapping[str, Span] = field(default_factory=dict)
    """What the receiver reads itself, of the sources that deliver by slot."""


def pack(consignment: Consignment, channels: Mapping[int, Channel], *, narrowed: bool = True) -> list[Any]:
    """A consignment as bytes in several parts, which are not put together yet."""
    parts: list[Any] = []
    listed = []
    for parcel in consignment.parcels:
        packed: Any = b""
        hints: list[Hint] = []
        if len(parcel.train):
            schema = channels[parcel.channel].stream.schema
            tuples, hints = narrow(parcel.train.tuples, schema) if narrowed else (parcel.train.tuples, [])
            packed = pack_tuples(tuples, schema, hints)
        parts.append(packed)
        listed.append([parcel.channel, parcel.sender, parcel.receiver, parcel.train.through, hints, len(packed)])
    header = {
        "step": consignment.step,
        "level": consignment.level,
        "version": consignment.version,
        "born": consignment.born,
        "spans": {name: _as_list(span) for name, span in consignment.spans.items()},
        "parcels": listed,
    }
    return _aligned(CONSIGNMENT, header, parts)


def unpack(packed: bytes | pa.Buffer, channels: Mapping[int, Channel]) -> Consignment:
    """The consignment that was packed; its tuples lie in the given bytes."""
    header, parts = _part(packed, lambda header: [length for *_, length in header["parcels"]])
    parcels = []
    for (channel, sender, receiver, through, hints, _), part in zip(header["parcels"], parts, strict=True):
        schema = channels[channel].stream.schema
        tuples = widen(unpack_tuples(part, schema, hints), schema, hints)
        parcels.append(Parcel(channel, sender, receiver, Train(tuples, through)))
    spans = {name: _as_span(*listed) for name, listed in header["spans"].items()}
    return Consignment(header["step"], header["level"], header["born"], tuple(parcels), header["version"], spans)


def _as_list(span: Span) -> list[Any]:
    return [span.before.position, span.before.through, span.after.position, span.after.through]


def _as_span(begin: Position, begin_through: int, end: Position, end_through: int) -> Span:
    return Span(Progress(begin, begin_through), Progress(end, end_through))


def address(packed: bytes) -> tuple[int, int]:
    """The level and the version of the network that packed bytes are for; notes are for no level: -1."""
    if packed[:4] in (NOTE, FRAME):
        return -1, 0
    if packed[:4] == TICKET:
        return address_of_ticket(packed)
    if packed[:4] == PIECE:
        return address_of_piece(packed)
    length = _LENGTH.unpack_from(packed, 4)[0]
    header = json.loads(packed[8 : 8 + length])
    return int(header["level"]), int(header["version"])


def pack_note(said: Mapping[str, Any], payload: bytes | pa.Buffer = b"", magic: bytes = NOTE) -> bytes:
    """A note for the driver: plain data, and maybe bytes."""
    return _join(magic, {"said": said, "length": len(payload)}, [payload])


def unpack_note(packed: bytes) -> tuple[dict[str, Any], pa.Buffer]:
    """The note that was packed."""
    header, parts = _part(packed, lambda header: [header["length"]])
    return header["said"], parts[0]


def pack_tuples(tuples: pl.DataFrame, schema: Schema, hints: Sequence[Hint] = ()) -> pa.Buffer:
    """Tuples as an Arrow record batch without schema or compression."""
    table = tuples.to_arrow(compat_level=_compatibility(schema)).combine_chunks()
    wanted = arrow_schema(schema, hints)
    if table.schema != wanted:
        table = table.select(wanted.names).cast(wanted)
    return table.to_batches()[0].serialize()


def unpack_tuples(packed: pa.Buffer, schema: Schema, hints: Sequence[Hint] = ()) -> pl.DataFrame:
    """The tuples that were packed, without copying them."""
    if len(packed) == 0:
        return schema.empty()
    frame = pl.from_arrow(pa.ipc.read_record_batch(packed, arrow_schema(schema, hints)))
    assert isinstance(frame, pl.DataFrame)
    return frame


def arrow_schema(schema: Schema, hints: Sequence[Hint] = ()) -> pa.Schema:
    """The Arrow types of the columns on their way."""
    known = (schema, tuple((name, size) for name, _, size in hints))
    if known not in _schemas:
        empty = schema.empty().cast(pl.Schema({**schema.polars(), **narrow_types(hints)}))
        _schemas[known] = empty.to_arrow(compat_level=_compatibility(schema)).schema
    return _schemas[known]


def _compatibility(schema: Schema) -> pl.CompatLevel:
    # A view of a text drags its whole buffer along, however few tuples a shard gets: send plain text instead.
    plain = any(field.type is Type.STRING for field in schema)
    return pl.CompatLevel.oldest() if plain else pl.CompatLevel.newest()


def pack_chunk(chunk: Chunk) -> list[Any]:
    """A chunk of state as bytes that name its columns and types, in several parts."""
    if isinstance(chunk, pl.DataFrame):
        table = chunk.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return _aligned(b"AF1\n", {"lengths": [len(sink.getvalue())]}, [sink.getvalue()])
    arrays = {name: np.ascontiguousarray(array) for name, array in chunk.items()}
    columns = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    parts = [array.reshape(-1).view(np.uint8) if array.size else b"" for array in arrays.values()]
    return _aligned(b"AA1\n", {"columns": columns, "lengths": [len(part) for part in parts]}, parts)


def unpack_chunk(packed: bytes | pa.Buffer) -> Chunk:
    """The chunk that was packed; its arrays lie in the given bytes and cannot be written to."""
    header, parts = _part(packed, lambda header: header["lengths"])
    if "columns" not in header:
        frame = pl.from_arrow(pa.ipc.open_stream(parts[0]).read_all())
        assert isinstance(frame, pl.DataFrame)
        return frame
    return {
        name: np.frombuffer(part, dtype=np.dtype(kind)).reshape(shape)
        for (name, kind, shape), part in zip(header["columns"], parts, strict=True)
    }


def _join(magic: bytes, header: Mapping[str, Any], parts: Sequence[Any]) -> bytes:
    return b"".join(_aligned(magic, header, parts))


def _aligned(magic: bytes, header: Mapping[str, Any], parts: Sequence[Any]) -> list[Any]:
    """Magic, length of the header, header, then each part at a multiple of 64."""
    text = json.dumps(header, separators=(",", ":")).encode()
    pieces: list[Any] = [magic, _LENGTH.pack(len(text)), text]
    at = 8 + len(text)
    for part in parts:
        pieces += [bytes(-at % _ALIGN), part]
        at += -at % _ALIGN + len(part)
    return pieces


def _part(packed: bytes | pa.Buffer, lengths: Any) -> tuple[dict[str, Any], list[pa.Buffer]]:
    buffer = packed if isinstance(packed, pa.Buffer) else pa.py_buffer(packed)
    view = memoryview(buffer)
    at = 8 + _LENGTH.unpack_from(view, 4)[0]
    header = json.loads(bytes(view[8:at]))
    parts = []
    for length in lengths(header):
        at += -at % _ALIGN
        parts.append(buffer.slice(at, length))
        at += length
    return header, parts
