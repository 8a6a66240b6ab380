"""The calls of a disk, on a store: what is appended to or cut there is written again, so such files should be small."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from arterial.storage.disk import Content, Disk, disk
from arterial.storage.remote import RemotePath


class RemoteDisk(Disk):
    """The calls that change files, for paths of a store; all of them survive a power cut here."""

    def create(self, path: Path, content: Content, mode: int) -> None:
        """Write a file that is not there yet."""
        at = _remote(path)
        at.store.create(at.key, as_bytes(content))

    def append(self, path: Path, content: BinaryIO) -> None:
        """Write a file again, with more at its end."""
        at = _remote(path)
        at.store.put(at.key, (path.read_bytes() if path.exists() else b"") + content.read())

    def cut(self, path: Path, size: int) -> None:
        """Write a file again, without what it has beyond a size."""
        at = _remote(path)
        at.store.put(at.key, path.read_bytes()[:size])

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name."""
        at = _remote(path)
        at.store.rename(at.key, _remote(target).key)

    def unlink(self, path: Path) -> None:
        """Remove a file, if it is there."""
        at = _remote(path)
        at.store.unlink(at.key)

    def make_folder(self, path: Path, mode: int) -> None:
        """Make a folder, and those that it lies in."""
        at = _remote(path)
        at.store.make_folder(at.key)

    def remove_folder(self, path: Path) -> None:
        """Remove a folder with all that is in it."""
        at = _remote(path)
        at.store.remove_folder(at.key)

    def sync(self, path: Path) -> None:
        """What is in a store stays."""


_REMOTE = RemoteDisk()


def disk_of(path: Path) -> Disk:
    """The disk that a path lies on."""
    return _REMOTE if isinstance(path, RemotePath) else disk()


def as_bytes(content: Content) -> bytes:
    """What would be written to a file."""
    if callable(content):
        file = BytesIO()
        content(file)
        return file.getvalue()
    if isinstance(content, str):
        return content.encode()
    parts: Any = [content] if isinstance(content, bytes | memoryview) else content
    return b"".join(bytes(memoryview(part).cast("B")) if len(part) else b"" for part in parts)


def _remote(path: Path) -> RemotePath:
    assert isinstance(path, RemotePath)
    return path
