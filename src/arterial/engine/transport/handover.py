"""Long consignments handed over in shared memory: on one machine only a ticket crosses Spark (decision 17).

On its way through Spark a row is copied a dozen times, in Python, in Java and in Python again. A ticket names a file
that the sender wrote and the receiver maps. The driver empties the folder when all tasks of a step are done, so a task
that Spark repeats within the step finds its file again; a step that is repeated after a crash begins with its sources
and writes new ones. Nothing here outlives a step, so nothing here has to.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.storage.mapped import map_file
from arterial.storage.place import write_parts
from arterial.storage.shared_memory import has_room

TICKET = b"AT1\n"
LEAST_BYTES = 1 << 16
"""What is shorter crosses Spark as it is: that costs less than a file."""

_LABEL = struct.Struct("<4sii")  # magic, level, version; then the name of the file


def hand_over(folder: str, level: int, version: int, parts: Sequence[Any]) -> bytes | None:
    """Put a consignment down for the tasks of a level; the ticket for it, or None if it must take the long way."""
    size = sum(len(part) for part in parts)
    if not folder or size < LEAST_BYTES:
        return None
    name = uuid.uuid4().hex
    path = Path(folder, name)
    try:
        if not has_room(folder, size):
            return None
        write_parts(path, parts)
    except OSError:
        # Others filled the memory meanwhile.
        return None
    return _LABEL.pack(TICKET, level, version) + name.encode()


def address_of_ticket(row: bytes) -> tuple[int, int]:
    """The level and the version of the network that a ticket is for."""
    _, level, version = _LABEL.unpack_from(row)
    return level, version


def fetch(folder: str, row: bytes) -> pa.Buffer:
    """What a ticket stands for, where it lies."""
    return map_file(Path(folder, row[_LABEL.size :].decode()))
