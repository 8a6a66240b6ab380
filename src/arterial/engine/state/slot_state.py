"""The state of one slot of one level (decisions 2, 12 and 18).

Spark's state store keeps one value: the index. It says which chunks there are and the stamp of the attempt that wrote
each, and holds the small ones whole. A large chunk is a file of its own that is never changed; a step that changes it
writes another one, under a name that no other attempt uses, and the index says from when on that counts. Spark commits
the index with the step, so all chunks change together or not at all; its commit log says which attempt at a step counts
(state checkpoint format 2). A file goes when no index that Spark could still ask for names it.

A worker keeps what it decoded under the stamps in a cache of the process, so a step costs one read and, if it changed
anything, one write, plus a file for each large chunk it touched.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arterial.engine.state.chunk_files import ChunkFiles, DamagedStateError, digest, file_name, length_of, new_stamp
from arterial.engine.state.chunks import pack_chunk, unpack_chunk
from arterial.network.state import Chunk
from arterial.storage.fail_point import fail_point

INLINE_BYTES = 4096
"""A chunk of at most this size lies in the index."""

SEED = "seed"
"""The file in a slot's folder that has its first index, where the run was given another number of shards."""

_LENGTH = struct.Struct("<I")
_DIGEST_BYTES = 24
"""The index begins with the digest of the rest, in so many bytes."""
_SEPARATOR = "\x1f"
_UNSAVED = "unsaved"
_STILL_ASKED_FOR = 2
"""So many saves after its end a file is removed; after a crash Spark goes back by one."""
_PAST = 32
"""After so many saves by others a worker's memos are too old to be of use."""


class Store(Protocol):
    """What is used of Spark's ValueState."""

    def get(self) -> tuple[Any, ...] | None:
        """The value."""

    def update(self, newValue: tuple[Any, ...]) -> None:  # noqa: N803
        """Replace it."""


@dataclass
class _Kept:
    """What a worker remembers of a slot between steps."""

    stamp: str = ""
    chunks: dict[str, tuple[str, Chunk]] = field(default_factory=dict)
    memos: dict[str, dict[str, Any]] = field(default_factory=dict)


_cache: dict[object, _Kept] = {}


@dataclass
class _Index:
    """What the state store keeps of a slot."""

    stamp: str = ""
    saves: int = 0
    chunks: dict[str, str] = field(default_factory=dict)
    """The stamp of every chunk, by its name."""
    inline: dict[str, bytes] = field(default_factory=dict)
    """The small chunks."""
    digests: dict[str, str] = field(default_factory=dict)
    """The digest of every large chunk's file."""
    ended: list[tuple[int, str]] = field(default_factory=list)
    """Files that no longer count, and since which save."""
    past: list[str] = field(default_factory=list)
    """The stamps of the saves before the last one, as far as a worker may want to know that its memos are of one."""

    def files(self) -> set[str]:
        """The files that it names."""
        large = {file_name(key, self.chunks[key]) for key in self.digests}
        return large | {name for _, name in self.ended}


class SlotState:
    """The state of all boxes of one slot of one level, during one step; `folder` is for its large chunks.

    Who only reads it does not `tidy` that folder.
    """

    def __init__(self, identity: object, store: Store, folder: Path, *, tidy: bool = True) -> None:
        self._store, self._files = store, ChunkFiles(folder)
        found = store.get() or _seed(folder)
        self._index = _read_index(found[0] if found else None)
        self._stored = dict(self._index.chunks)
        if tidy and identity not in _cache:
            self._files.clean(self._index.files(), self._index.saves - _STILL_ASKED_FOR)
        self._kept = _cache.setdefault(identity, _Kept())
        self._earlier_memos: dict[str, dict[str, Any]] = {}
        if self._kept.stamp != self._index.stamp:
            if self._kept.stamp in self._index.past:
                self._earlier_memos = self._kept.memos
            self._kept.memos = {}
            self._kept.chunks = {
                key: kept for key, kept in self._kept.chunks.items() if self._stored.get(key) == kept[0]
            }
        # Until this step is saved, what the worker remembers may be ahead of the store.
        self._kept.stamp = _UNSAVED
        self._touched: set[str] = set()
        self.reads = self.writes = 0
        self._read, self._written = len(found[0]) if found else 0, 0

    def of(self, box: str) -> BoxState:
        """The state of one box."""
        memo = self._kept.memos.setdefault(box, {})
        return BoxState(self, box, memo, self._earlier_memos.setdefault(box, {}))

    def fetch(self, key: str) -> Chunk | None:
        """A chunk by its whole name: from the cache, else from the index, else from its file."""
        if key not in self._index.chunks:
            return None
        if key in self._kept.chunks:
            return self._kept.chunks[key][1]
        stamp = self._index.chunks[key]
        if key in self._index.inline:
            chunk = unpack_chunk(self._index.inline[key])
        else:
            content = self._files.read(file_name(key, stamp), self._index.digests[key])
            chunk = unpack_chunk(content)
            self.reads += 1
            self._read += len(content)
        self._kept.chunks[key] = (stamp, chunk)
        return chunk

    def put(self, key: str, chunk: Chunk) -> None:
        """Replace a chunk."""
        self._index.chunks[key] = ""
        self._kept.chunks[key] = ("", chunk)
        self._touched.add(key)

    def drop(self, key: str) -> None:
        """Forget a chunk."""
        if self._index.chunks.pop(key, None) is not None:
            self._kept.chunks.pop(key, None)
            self._touched.add(key)

    def keep_only(self, boxes: set[str]) -> None:
        """Forget the chunks of all others."""
        for key in [key for key in self._index.chunks if key.partition(_SEPARATOR)[0] not in boxes]:
            self.drop(key)

    def keys(self, prefix: str) -> list[str]:
        """The names of the chunks that begin with a prefix, without it."""
        return sorted(key.removeprefix(prefix) for key in self._index.chunks if key.startswith(prefix))

    def save(self) -> dict[str, Any]:
        """Write what was touched and remember it for the next step; bytes that were read, written, and are there, in
        all and by who keeps them."""
        index = self._index
        if not self._touched:
            self._kept.stamp = index.stamp
            return self._said()
        # A stamp is never used twice, so what a worker remembers of a failed attempt is never mistaken for the truth.
        index.past = [*index.past, index.stamp][-_PAST:]
        index.saves += 1
        index.stamp = new_stamp(index.saves)
        for key in sorted(self._touched):
            index.inline.pop(key, None)
            if index.digests.pop(key, None) is not None:
                index.ended.append((index.saves, file_name(key, self._stored[key])))
            if key in index.chunks:
                self._write(key)
        due = [name for since, name in index.ended if since <= index.saves - _STILL_ASKED_FOR]
        index.ended = [(since, name) for since, name in index.ended if since > index.saves - _STILL_ASKED_FOR]
        packed = _write_index(index)
        self._written += len(packed)
        if self.writes:
            self._files.sync()
        fail_point("state.chunks-written")
        self._store.update((packed,))
        fail_point("state.index-updated")
        self._files.remove(due)
        self._kept.stamp = index.stamp
        self._touched.clear()
        return self._said()

    def _said(self) -> dict[str, Any]:
        held: dict[str, int] = {}
        sizes = [(key, len(chunk)) for key, chunk in self._index.inline.items()]
        sizes += [(key, length_of(known)) for key, known in self._index.digests.items()]
        for key, size in sizes:
            owner = key[: key.index(_SEPARATOR)]
            held[owner] = held.get(owner, 0) + size
        total = sum(held.values())
        return {"state_read": self._read, "state_written": self._written, "state_bytes": total, "state": held}

    def _write(self, key: str) -> None:
        stamp = self._index.stamp
        chunk = self._kept.chunks[key][1]
        parts = pack_chunk(chunk)
        if sum(len(part) for part in parts) <= INLINE_BYTES:
            self._index.inline[key] = b"".join(parts)
        else:
            self._index.digests[key] = self._files.write(file_name(key, stamp), parts)
            self.writes += 1
            self._written += length_of(self._index.digests[key])
        self._index.chunks[key] = stamp
        self._kept.chunks[key] = (stamp, chunk)


class BoxState:
    """The state of one box in one slot, as the box sees it."""

    def __init__(self, slot: SlotState, box: str, memo: dict[str, Any], earlier_memo: dict[str, Any]) -> None:
        self._slot, self._prefix = slot, box + _SEPARATOR
        self.memo, self.earlier_memo = memo, earlier_memo

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

    def _name(self, table: str, key: str) -> str:
        return f"{self._prefix}{table}{_SEPARATOR}{key}"


def names_in(packed: bytes) -> list[tuple[str, str, str]]:
    """The chunks that an index names: owner, table and key of each."""
    names = (name.split(_SEPARATOR) for name in sorted(_read_index(packed).chunks))
    return [(owner, table, key) for owner, table, key in names]


def forget_cache() -> None:
    """Empty the cache of this process; for tests."""
    _cache.clear()


def _seed(folder: Path) -> tuple[bytes] | None:
    """The index that a slot begins with, if it was given one."""
    try:
        return ((folder / SEED).read_bytes(),)
    except FileNotFoundError:
        return None


def _write_index(index: _Index) -> bytes:
    header = {
        "stamp": index.stamp,
        "saves": index.saves,
        "chunks": index.chunks,
        "inline": [[name, len(packed)] for name, packed in index.inline.items()],
        "digests": index.digests,
        "ended": index.ended,
        "past": index.past,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    parts = [_LENGTH.pack(len(text)), text, *index.inline.values()]
    return b"".join([digest(parts).encode().rjust(_DIGEST_BYTES), *parts])


def _read_index(packed: bytes | None) -> _Index:
    if packed is None:
        return _Index()
    packed = bytes(packed)
    expected, content = packed[:_DIGEST_BYTES].decode(errors="replace").strip(), memoryview(packed)[_DIGEST_BYTES:]
    if digest([content]) != expected:
        raise DamagedStateError(
            "the index of a slot in Spark's state store has other content than was saved: the checkpoint is damaged. "
            "Restore it from a copy, or begin from the start with a new folder as checkpoint."
        )
    begin = _DIGEST_BYTES + _LENGTH.size
    at = begin + _LENGTH.unpack_from(content)[0]
    header = json.loads(packed[begin:at])
    inline = {}
    for name, length in header["inline"]:
        inline[name] = packed[at : at + length]
        at += length
    ended = [(since, name) for since, name in header["ended"]]
    return _Index(header["stamp"], header["saves"], header["chunks"], inline, header["digests"], ended, header["past"])
