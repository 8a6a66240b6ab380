"""The state of one slot of one level in Spark's state store (decision 2).

One `MapState` holds it all. Under the empty key lies the index: which chunks there are, the stamp of the step that
wrote each, and the small ones whole; under their names the others. A worker keeps what it decoded under the same
stamps in a cache of the process, so a step costs one read and, if it changed anything, one write, plus one for each
large chunk it touched. A worker that lost its turn looks on the machine's shelf (`shelf`), then reads again. A state
variable costs Spark some milliseconds in every step and slot, so there is only one.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from arterial.engine import shelf
from arterial.engine.packing import pack_chunk, unpack_chunk
from arterial.network.state import Chunk

INLINE_BYTES = 4096
"""A chunk of at most this size lies in the index."""

_LENGTH = struct.Struct("<I")
_SEPARATOR = "\x1f"
_UNSAVED = "unsaved"
_INDEX = ("",)


class Store(Protocol):
    """What is used of Spark's MapState."""

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        """The value of a key."""

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        """Replace it."""

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        """Remove it."""


@dataclass
class _Kept:
    """What a worker remembers of a slot between steps."""

    stamp: str = ""
    chunks: dict[str, tuple[str, Chunk]] = field(default_factory=dict)
    memos: dict[str, dict[str, Any]] = field(default_factory=dict)


_cache: dict[object, _Kept] = {}


class SlotState:
    """The state of all boxes of one slot of one level, during one step."""

    def __init__(self, identity: object, store: Store) -> None:
        self._store = store
        self._owner = repr(identity)
        found = store.getValue(_INDEX)
        self._stamp, self._index, self._inline = _read_index(found[0] if found else None)
        self._kept = _cache.setdefault(identity, _Kept())
        if self._kept.stamp != self._stamp:
            self._kept.memos.clear()
            self._kept.chunks = {
                key: kept for key, kept in self._kept.chunks.items() if self._index.get(key) == kept[0]
            }
        # Until this step is saved, what the worker remembers may be ahead of the store.
        self._kept.stamp = _UNSAVED
        self._touched: set[str] = set()
        self.reads = self.writes = 0

    def of(self, box: str) -> BoxState:
        """The state of one box."""
        return BoxState(self, box, self._kept.memos.setdefault(box, {}))

    def fetch(self, key: str) -> Chunk | None:
        """A chunk by its whole name: from the cache, else from the index, else from the store."""
        if key not in self._index:
            return None
        if key in self._kept.chunks:
            return self._kept.chunks[key][1]
        if key in self._inline:
            chunk = unpack_chunk(self._inline[key])
        elif (lying := shelf.find(self._owner, key, self._index[key])) is not None:
            chunk = unpack_chunk(lying)
        else:
            found = self._store.getValue((key,))
            self.reads += 1
            if found is None:
                raise AssertionError(f"the state store lost the chunk {key!r}")
            chunk = unpack_chunk(bytes(found[0]))
        self._kept.chunks[key] = (self._index[key], chunk)
        return chunk

    def put(self, key: str, chunk: Chunk) -> None:
        """Replace a chunk."""
        self._index[key] = ""
        self._kept.chunks[key] = ("", chunk)
        self._touched.add(key)

    def drop(self, key: str) -> None:
        """Forget a chunk."""
        if self._index.pop(key, None) is not None:
            self._kept.chunks.pop(key, None)
            self._touched.add(key)

    def keys(self, prefix: str) -> list[str]:
        """The names of the chunks that begin with a prefix, without it."""
        return sorted(key.removeprefix(prefix) for key in self._index if key.startswith(prefix))

    def save(self) -> dict[str, float]:
        """Write what was touched to the store and remember it for the next step; how many calls that took."""
        if not self._touched:
            self._kept.stamp = self._stamp
            return {"state_reads": self.reads, "state_writes": 0}
        # A stamp is never used twice, so a cache that a failed attempt left behind is never mistaken for the truth.
        stamp = os.urandom(8).hex()
        for key in sorted(self._touched):
            was_inline = self._inline.pop(key, None) is not None
            if key not in self._index:
                if not was_inline:
                    self._store.removeKey((key,))
                    shelf.take_away(self._owner, key)
                    self.writes += 1
                continue
            self._index[key] = stamp
            chunk = self._kept.chunks[key][1]
            self._kept.chunks[key] = (stamp, chunk)
            packed = pack_chunk(chunk)
            if len(packed) <= INLINE_BYTES:
                self._inline[key] = packed
            else:
                self._store.updateValue((key,), (packed,))
                shelf.lay(self._owner, key, stamp, packed)
                self.writes += 1
        self._store.updateValue(_INDEX, (_write_index(stamp, self._index, self._inline),))
        self._kept.stamp = stamp
        self._touched.clear()
        return {"state_reads": self.reads, "state_writes": self.writes + 1}


class BoxState:
    """The state of one box in one slot, as the box sees it."""

    def __init__(self, slot: SlotState, box: str, memo: dict[str, Any]) -> None:
        self._slot, self._prefix, self._memo = slot, box + _SEPARATOR, memo

    def get(self, table: str, key: str = "") -> Chunk | None:
        """The chunk, or None if there is none."""
        return self._slot.fetch(self._name(table, key))

    def put(self, table: str, key: str, chunk: Chunk) -> None:
        """Replace the chunk."""
        self._slot.put(self._name(table, key), chunk)

    def drop(self, table: str, key: str = "") -> None:
        """Forget the chunk."""
        self._slot.drop(self._name(table, key))

    def keys(self, table: str) -> list[str]:
        """The keys of the table's chunks, in order."""
        return self._slot.keys(self._name(table, ""))

    @property
    def memo(self) -> dict[str, Any]:
        """A place for what can be computed again from the chunks."""
        return self._memo

    def _name(self, table: str, key: str) -> str:
        return f"{self._prefix}{table}{_SEPARATOR}{key}"


def forget_cache() -> None:
    """Empty the cache of this process; for tests."""
    _cache.clear()


def _write_index(stamp: str, index: Mapping[str, str], inline: Mapping[str, bytes]) -> bytes:
    names = list(inline)
    header = {"stamp": stamp, "chunks": index, "inline": [[name, len(inline[name])] for name in names]}
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *(inline[name] for name in names)])


def _read_index(packed: bytes | None) -> tuple[str, dict[str, str], dict[str, bytes]]:
    if packed is None:
        return "", {}, {}
    packed = bytes(packed)
    at = 4 + _LENGTH.unpack_from(packed)[0]
    header = json.loads(packed[4:at])
    inline = {}
    for name, length in header["inline"]:
        inline[name] = packed[at : at + length]
        at += length
    return header["stamp"], header["chunks"], inline
