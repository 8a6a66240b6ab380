"""The files of a slot's large chunks: the index, in Spark's state store, says which chunks are valid (decision 18)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.storage.mapped import map_file, write_parts

_NUMBER_DIGITS = 8


class ChunkFiles:
    """A folder of files that are never changed; each belongs to one chunk as one save left it.

    All attempts at a save give a chunk's file the same name: of two attempts whose state reached Spark's store the
    first is kept, while the run goes on with the second, so either may be asked for later.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, parts: Sequence[Any]) -> None:
        """Put a file in place, maybe instead of the one that another attempt left; who has that mapped keeps it."""
        draft = self._folder / f"{name}.{os.urandom(4).hex()}"
        try:
            write_parts(draft, parts)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_parts(draft, parts)
        draft.replace(self._folder / name)

    def read(self, name: str) -> pa.Buffer:
        """What is in a file."""
        return map_file(self._folder / name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that no index names which Spark could still ask for."""
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def clean(self, named: set[str], through: int) -> None:
        """Remove what saves up to that number left behind and nothing names any more."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                with suppress(ValueError):  # not a file of ours
                    if path.name not in named and int(path.name[:_NUMBER_DIGITS], 16) <= through:
                        path.unlink(missing_ok=True)


def new_stamp(save: int) -> str:
    """The stamp of one attempt at the save of that number."""
    return f"{save:0{_NUMBER_DIGITS}x}{os.urandom(8).hex()}"


def file_name(key: str, stamp: str) -> str:
    """The name of the file of a chunk as the save of a stamp left it, in whichever attempt."""
    return f"{stamp[:_NUMBER_DIGITS]}-{hashlib.blake2s(key.encode(), digest_size=8).hexdigest()}"
