"""The shelf: chunks of state in shared memory, where all Python workers of one daemon find what another one wrote.

Spark gives a slot to any worker that is idle, so a worker often lacks the chunks that its neighbour changed in the step
before. Asking the state store for them goes through Java and a pickle: 10 ms for a megabyte. Here it is a mapped file.

Only a cache: the store has the truth. Every chunk has the stamp of the save that wrote it, which is never used twice,
so what is on the shelf either is what the index asks for or is passed over. The daemon makes the shelf and clears it
away; without shared memory, or when that is nearly full, there is none.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from arterial.engine.memory import has_room

PLACE = "ARTERIAL_SHELF"
"""The environment variable by which a daemon tells its workers where the shelf is."""

_LABEL_BYTES = 64


def lay(owner: str, key: str, stamp: str, packed: bytes) -> None:
    """Put a chunk of a slot (the owner) on the shelf, in the place of an older one."""
    if not (folder := os.environ.get(PLACE)):
        return
    path = _path(folder, owner, key)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        if not has_room(folder, len(packed)):
            return
        with draft.open("wb") as file:
            file.write(stamp.encode().ljust(_LABEL_BYTES))
            file.write(packed)
        draft.replace(path)
    except OSError:
        # Full, or cleared away under us: the store has it.
        _remove(draft)


def find(owner: str, key: str, stamp: str) -> pa.Buffer | None:
    """The chunk of this stamp, if it is there."""
    if not (folder := os.environ.get(PLACE)):
        return None
    try:
        with pa.memory_map(str(_path(folder, owner, key))) as file:
            whole = file.read_buffer()
    except OSError:
        return None
    if whole[:_LABEL_BYTES].to_pybytes().rstrip() != stamp.encode():
        return None
    return whole[_LABEL_BYTES:]


def take_away(owner: str, key: str) -> None:
    """Remove a chunk."""
    if folder := os.environ.get(PLACE):
        _remove(_path(folder, owner, key))


def _path(folder: str, owner: str, key: str) -> Path:
    return Path(folder, hashlib.blake2s(f"{owner}\x1f{key}".encode(), digest_size=16).hexdigest())


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
