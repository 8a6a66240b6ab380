"""The disk: the few calls by which the files of a run change. All that must survive a crash is changed by them alone.

A test may put another disk in the place of the plain one, to count these calls, to fail at one of them, or to know what
a power cut would leave (decision 27).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from arterial.storage.remote import RemotePath

Content = str | bytes | memoryview | Sequence[Any] | Callable[[BinaryIO], object]
"""Text, bytes, buffers one after the other, or a function that writes to the open file."""

_COPIED_AT_ONCE = 1 << 20


class Disk:
    """The calls of the system, as they are."""

    def create(self, path: Path, content: Content, mode: int) -> None:
        """Write a file that is not there yet."""
        if callable(content):
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                content(file)
            return
        parts: Any = [content] if isinstance(content, bytes | memoryview) else content
        if isinstance(content, str):
            parts = [content.encode()]
        file_number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            for part in parts:
                view = memoryview(part).cast("B") if len(part) else memoryview(b"")
                while view:
                    view = view[os.write(file_number, view) :]
        finally:
            os.close(file_number)

    def append(self, path: Path, content: BinaryIO) -> None:
        """Append to a file, or a new one, all that another has from its position on."""
        with path.open("ab") as file:
            # A little at a time: memory that is touched for the first time costs more than the copy.
            shutil.copyfileobj(content, file, _COPIED_AT_ONCE)

    def cut(self, path: Path, size: int) -> None:
        """Remove what a file has beyond a size."""
        os.truncate(path, size)

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name, in the place of a file of that name."""
        path.replace(target)

    def link(self, path: Path, target: Path) -> None:
        """Give a file a second name, if there is no file of that name."""
        os.link(path, target)

    def unlink(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path, mode: int) -> None:
        """Make a folder in one that is there, if it is not there yet."""
        path.mkdir(mode, exist_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove a folder with all that is in it, as far as possible."""
        shutil.rmtree(path, ignore_errors=True)

    def sync(self, path: Path) -> None:
        """Wait until the content of a file, or the names in a folder, would survive a power cut."""
        file_number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file_number)
        finally:
            os.close(file_number)


_disk = Disk()
_durable = 0


def disk() -> Disk:
    """The disk in use."""
    return _disk


@contextmanager
def using(other: Disk) -> Iterator[None]:
    """Put another disk in the place of the plain one; for tests."""
    global _disk
    before, _disk = _disk, other
    try:
        yield
    finally:
        _disk = before


def is_durable() -> bool:
    """Whether what this process writes must survive a power cut."""
    return _durable > 0


def be_durable(durable: bool) -> None:
    """In a task's process: write as its run wants it."""
    global _durable
    _durable = int(durable)


@contextmanager
def durably(durable: bool) -> Iterator[None]:
    """For as long as a run lasts in this process, write durably if it wants that; other runs here then do too."""
    global _durable
    _durable += durable
    try:
        yield
    finally:
        _durable -= durable


def sync(path: Path) -> None:
    """Sync a file or folder, if what this process writes must survive a power cut."""
    if _durable and not isinstance(path, RemotePath):
        _disk.sync(path)
