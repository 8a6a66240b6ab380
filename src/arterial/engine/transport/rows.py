"""How bytes cross Spark: rows with shipments from slot to slot, and with reports to the driver.

On its way through Spark a row is copied a dozen times, in Python, in Java and in Python again. So on one machine a long
shipment is a file in shared memory that the sender writes and the receiver maps, and its row only names it (decision
17). The driver empties the folder when all tasks of a step are done, so a task that Spark repeats within the step finds
its file again; a step that is repeated after a crash begins with its sources and writes new ones. On several machines a
long shipment is cut into pieces: short copies stay in the cache.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.engine.plan.plan import Channel
from arterial.engine.transport.framing import frame, read_header, unframe
from arterial.engine.transport.shipments import Shipment, pack, unpack
from arterial.storage.mapped import map_file
from arterial.storage.place import write_parts
from arterial.storage.shared_memory import has_room

IN_MEMORY = b"AT1\n"
PIECE = b"AP1\n"
REPORT = b"AN1\n"
FRAME = b"AD1\n"
"""A report with tuples that leave through a Spark sink."""

LEAST_IN_MEMORY = 1 << 16
"""Fewer bytes cross Spark as they are: that costs less than a file."""
PIECE_BYTES = 1 << 20

_ADDRESS = struct.Struct("<4sii")  # what it is, level, version; then the name of the file, or what comes next
_PIECE = struct.Struct("<qii")  # sender, index, how many


def to_rows(shipment: Shipment, sender: int, channels: Mapping[int, Channel], memory: str) -> list[bytes]:
    """A shipment as rows of Spark; the sender is one of a kind among those that send to the slot in a step.

    `memory` is the folder in shared memory, or empty where tasks run on several machines.
    """
    # Narrow columns save copies, of which there are few in shared memory.
    parts = pack(shipment, channels, narrowed=not memory)
    address = (shipment.level, shipment.steering.version)
    if name := _put_in_memory(memory, parts):
        return [_ADDRESS.pack(IN_MEMORY, *address) + name.encode()]
    return cut(b"".join(parts), address, sender)


def from_rows(rows: Iterable[bytes], channels: Mapping[int, Channel], memory: str) -> list[Shipment]:
    """The shipments that rows brought to a slot of a level."""
    brought = (
        map_file(Path(memory, row[_ADDRESS.size :].decode())) if row[:4] == IN_MEMORY else row for row in whole(rows)
    )
    return [unpack(packed, channels) for packed in brought]


def address_of(row: bytes) -> tuple[int, int]:
    """The level and the version of the network that a row is for; reports are for no level: -1."""
    if row[:4] in (REPORT, FRAME):
        return -1, 0
    if row[:4] in (IN_MEMORY, PIECE):
        _, level, version = _ADDRESS.unpack_from(row)
        return level, version
    header, _ = read_header(row)
    return int(header["level"]), int(header["steering"]["version"])


def pack_report(said: Mapping[str, Any], payload: bytes | pa.Buffer = b"", kind: bytes = REPORT) -> bytes:
    """A report to the driver: plain data, and maybe bytes."""
    return b"".join(frame(kind, {"said": said, "length": len(payload)}, [payload]))


def unpack_report(row: bytes) -> tuple[dict[str, Any], pa.Buffer]:
    """The report that was packed."""
    header, parts = unframe(row, lambda header: [header["length"]])
    return header["said"], parts[0]


def cut(packed: bytes, address: tuple[int, int], sender: int) -> list[bytes]:
    """A packed shipment as rows that are not too long.

    >>> [len(row) - _ADDRESS.size - _PIECE.size for row in cut(bytes(PIECE_BYTES + 5), (0, 1), sender=3)]
    [1048576, 5]
    """
    if len(packed) <= PIECE_BYTES:
        return [packed]
    view, begins, label = memoryview(packed), range(0, len(packed), PIECE_BYTES), _ADDRESS.pack(PIECE, *address)
    return [
        b"".join([label, _PIECE.pack(sender, n, len(begins)), view[begin : begin + PIECE_BYTES]])
        for n, begin in enumerate(begins)
    ]


def whole(rows: Iterable[bytes]) -> list[bytes]:
    """The rows with their pieces put together, in whatever order they come.

    >>> long = bytes(range(256)) * 9000
    >>> whole([b"short", *reversed(cut(long, (0, 1), 3))]) == [b"short", long]
    True
    """
    found: list[bytes] = []
    pieces: dict[int, dict[int, bytes]] = {}
    counts: dict[int, int] = {}
    for row in rows:
        if row[:4] != PIECE:
            found.append(row)
            continue
        sender, index, counts[sender] = _PIECE.unpack_from(row, _ADDRESS.size)
        pieces.setdefault(sender, {})[index] = row
    begin = _ADDRESS.size + _PIECE.size
    for sender, some in pieces.items():
        assert len(some) == counts[sender], f"{counts[sender] - len(some)} pieces from {sender} did not arrive"
        found.append(b"".join(memoryview(some[n])[begin:] for n in range(len(some))))
    return found


def _put_in_memory(folder: str, parts: Sequence[Any]) -> str | None:
    """Write a file for the tasks of a later level; its name, or None if the bytes must go through Spark."""
    size = sum(len(part) for part in parts)
    if not folder or size < LEAST_IN_MEMORY:
        return None
    name = uuid.uuid4().hex
    try:
        if not has_room(folder, size):
            return None
        write_parts(Path(folder, name), parts)
    except OSError:
        # Others filled the memory meanwhile.
        return None
    return name
