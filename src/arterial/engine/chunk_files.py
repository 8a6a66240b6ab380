"""The files of a slot's large chunks: which chunks count says the index, in Spark's state store (decision 18)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.engine.mapped import map_file, write_parts

SETTLED_SECONDS = 60.0
"""A file that no index names is only taken for a leftover when nobody can still be about to name it."""


class ChunkFiles:
    """A folder of files that are never changed; each belongs to one chunk as one save left it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, parts: Sequence[Any]) -> None:
        """Write a new file."""
        try:
            write_parts(self._folder / name, parts)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_parts(self._folder / name, parts)

    def read(self, name: str) -> pa.Buffer:
        """What is in a file."""
        return map_file(self._folder / name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that no index names which Spark could still ask for."""
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def clean(self, named: set[str]) -> None:
        """Remove what steps left behind that were never committed."""
        settled = time.time() - SETTLED_SECONDS
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in named and path.stat().st_mtime < settled:
                    path.unlink(missing_ok=True)


def file_name(key: str, stamp: str) -> str:
    """The name of the file of a chunk as a save left it."""
    return f"{stamp}-{hashlib.blake2s(key.encode(), digest_size=8).hexdigest()}"
