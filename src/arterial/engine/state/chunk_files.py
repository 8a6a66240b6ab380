"""The files of a slot's large chunks; the index, in Spark's state store, says which are valid (decision 18)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from arterial.storage.mapped import map_file
from arterial.storage.place import PRIVATE, put_in_place, remove

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
        try:
            put_in_place(self._folder / name, parts, mode=PRIVATE)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            put_in_place(self._folder / name, parts, mode=PRIVATE)

    def read(self, name: str) -> pa.Buffer:
        """What is in a file."""
        return map_file(self._folder / name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that no index names which Spark could still ask for."""
        for name in names:
            remove(self._folder / name)

    def clean(self, named: set[str], through: int) -> None:
        """Remove what saves up to that number left behind and nothing names any more."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                with suppress(ValueError):  # not a file of ours
                    number = int(path.name.removeprefix(".")[:_NUMBER_DIGITS], 16)  # a draft begins with a dot
                    if path.name not in named and number <= through:
                        remove(path)


def new_stamp(save: int) -> str:
    """The stamp of one attempt at the save of that number."""
    return f"{save:0{_NUMBER_DIGITS}x}{os.urandom(8).hex()}"


def file_name(key: str, stamp: str) -> str:
    """The name of the file of a chunk as the save of a stamp left it, in whichever attempt."""
    return f"{stamp[:_NUMBER_DIGITS]}-{hashlib.blake2s(key.encode(), digest_size=8).hexdigest()}"
