"""The files of a slot's large chunks; the index, in Spark's state store, says which are valid (decision 18)."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.errors import RunError
from arterial.storage.disk import sync
from arterial.storage.mapped import map_file
from arterial.storage.place import PRIVATE, make_folder, remove, write_parts

_NUMBER_DIGITS = 8


class DamagedStateError(RunError):
    """The state in a checkpoint is not what was saved."""


class ChunkFiles:
    """A folder of files that are never changed or replaced; each is one chunk as one attempt at a save left it.

    A file is written under its own name from the start: nobody knows it before the index that names it is saved, and
    what an attempt leaves that is never committed is named by no index.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, parts: Sequence[Any]) -> str:
        """Write a new file; the digest of its content."""
        try:
            write_parts(self._folder / name, parts, PRIVATE)
        except FileNotFoundError:
            make_folder(self._folder)
            write_parts(self._folder / name, parts, PRIVATE)
        return digest(parts)

    def read(self, name: str, expected: str) -> pa.Buffer:
        """What is in a file, if it has the expected digest."""
        path = self._folder / name
        try:
            content = map_file(path)
        except (OSError, pa.ArrowInvalid) as trouble:
            raise _damaged(path, f"cannot be read ({trouble})") from None
        if (found := digest([content])) != expected:
            raise _damaged(path, f"has other content than was saved (digest {found}, expected {expected})")
        return content

    def sync(self) -> None:
        """Let the names of the files survive a power cut, if the run is durable."""
        sync(self._folder)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that no index names which Spark could still ask for."""
        for name in names:
            remove(self._folder / name)

    def clean(self, named: set[str], through: int) -> None:
        """Remove what saves up to that number left behind and nothing names any more."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                with suppress(ValueError):  # not a file of ours
                    if path.name not in named and int(path.name[:_NUMBER_DIGITS], 16) <= through:
                        remove(path)


def new_stamp(save: int) -> str:
    """The stamp of one attempt at the save of that number."""
    return f"{save:0{_NUMBER_DIGITS}x}{os.urandom(8).hex()}"


def file_name(key: str, stamp: str) -> str:
    """The name of the file of a chunk as the attempt of a stamp left it."""
    return f"{stamp}-{hashlib.blake2s(key.encode(), digest_size=8).hexdigest()}"


def digest(parts: Sequence[Any]) -> str:
    """The length and the checksum of what lies in several buffers: enough to find damage, and fast."""
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return f"{sum(len(part) for part in parts):x}-{checksum:08x}"


def length_of(known: str) -> int:
    """The length that a digest names."""
    return int(known.partition("-")[0], 16)


def _damaged(path: Path, what: str) -> DamagedStateError:
    return DamagedStateError(
        f"{path}: this file of the checkpoint's state {what}. Something other than this run has changed it: restore it "
        "from a copy, or begin from the start with a new folder as checkpoint."
    )
