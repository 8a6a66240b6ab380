"""Folders in the machine's shared memory, each for as long as the process that made it.

A process that is killed cannot clear its folder away. So the maker holds a lock in it, which the system releases with
the process, and whoever makes a folder next removes those whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_MEMORY = Path("/dev/shm")
_PREFIX = "arterial-"
_LOCK = "lock"
_LEAST_FREE = 0.25
"""The share of the shared memory that is left to others."""


class MemoryFolder:
    """A folder in shared memory. Its lock goes with this process and those that it forks."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock

    @classmethod
    def make(cls, purpose: str) -> MemoryFolder | None:
        """An empty folder, if this machine has shared memory that can be written to."""
        try:
            _remove_abandoned()
            # Under a name that nobody takes for abandoned, until the lock is held.
            draft = Path(tempfile.mkdtemp(prefix=".", dir=_MEMORY))
            lock = os.open(draft / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            path = draft.rename(_MEMORY / f"{_PREFIX}{purpose}-{draft.name[1:]}")
        except OSError:
            return None
        return cls(path, lock)

    def empty(self) -> None:
        """Remove what is in it. Who has mapped a file keeps what it shows."""
        with suppress(OSError):
            for path in self.path.iterdir():
                if path.name != _LOCK:
                    path.unlink()

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def has_room(folder: str | Path, size: int = 0) -> bool:
    """Whether so many bytes fit into a folder in shared memory, and others still find room."""
    space = os.statvfs(folder)
    return space.f_bavail - size / space.f_frsize >= _LEAST_FREE * space.f_blocks


def _remove_abandoned() -> None:
    for path in _MEMORY.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
