"""One run at a time on a checkpoint: a lock that is gone when its process is, and Spark's own process with it."""

from __future__ import annotations

import fcntl
import io
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from arterial.errors import RunError
from arterial.storage.place import put_in_place
from arterial.storage.remote import RemotePath

LOCK_FILE = "lock"
PATIENCE = 20.0
"""Seconds to wait for the Spark of a driver that was killed: it ends itself soon after, but not at once."""
_ATTEMPTS = 5

NOT_DURABLE = (
    "the machine was restarted while this run was at work, and it was not started with --durable: files that it wrote "
    "in the last half minute before may be missing, empty or cut, also in the outputs. Compare those, or start over "
    "with --force"
)


def lock_checkpoint(folder: Path) -> IO[str]:
    """Take the lock, or refuse because another run has it. Closing the file gives it back."""
    lock = _open(folder / LOCK_FILE)
    if not _take(lock):
        owner = _owner(lock)
        on = f" on {owner[4]}" if _elsewhere(owner) else ""
        lock.close()
        by = f" (process {owner[0]}{on})" if owner else ""
        raise RunError(
            f"another run{by} uses the checkpoint {folder.parent}. Stop it first, or give another folder as checkpoint."
        )
    try:
        _wait_for_old_spark(lock, folder)
    except RunError:
        lock.close()
        raise
    return lock


class StoreLock(io.StringIO):
    """A store has no locks. Who has the checkpoint is only noted there, and the epoch sees to it that one goes on."""

    def __init__(self, path: RemotePath) -> None:
        self._noted = path.read_text() if path.exists() else ""
        super().__init__(self._noted)
        self._path = path

    def flush(self) -> None:
        """Put the note in place."""
        self._noted = self.getvalue()
        put_in_place(self._path, self._noted)

    @property
    def is_own(self) -> bool:
        """Whether what was noted last is still there: another run may have taken over."""
        return self._path.exists() and self._path.read_text() == self._noted


def _open(path: Path) -> IO[str]:
    return StoreLock(path) if isinstance(path, RemotePath) else path.open("a+", errors="replace")


def is_locked(path: Path) -> bool:
    """Whether a run has the lock: in a store, whether one noted that it has it, and its process is not gone."""
    if isinstance(path, RemotePath):
        with StoreLock(path) as lock:
            owner = _owner(lock)
        return bool(owner) and (_elsewhere(owner) or Path(f"/proc/{owner[0]}").exists())
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _take(lock: IO[str]) -> bool:
    """Take it; who only looks whether it is taken (`arterial status`) holds it for an instant.

    Of a store it is known only whether a run of this machine has it; one on another is stopped by the epoch.
    """
    if isinstance(lock, StoreLock):
        return not _at_work_here(_owner(lock))
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.02 if attempt + 1 < _ATTEMPTS else 0)
        else:
            return True
    return False


def note_owner(lock: IO[str], spark: int | None, *, durable: bool = False) -> None:
    """Write down who has the lock: this process, that of its Spark, and which start of which machine it is."""
    lock.seek(0)
    lock.truncate()
    kept = "durable" if durable else "-"
    lock.write(f"{os.getpid()} {spark or 0} {machine_start() or '-'} {kept} {socket.gethostname()}\n")
    lock.flush()
    # Without this a start of the machine that cuts the run off would not be noticed.
    if not isinstance(lock, StoreLock):
        os.fsync(lock.fileno())


def release(lock: IO[str]) -> None:
    """Give the lock back; the run came to its end by itself."""
    with suppress(OSError):  # a full disk, say
        if isinstance(lock, StoreLock) and not lock.is_own:
            return
        lock.seek(0)
        lock.truncate()
        lock.flush()
        lock.close()


def cut_off(lock: IO[str]) -> bool | None:
    """Whether the run before this one was durable, if the machine was restarted while it was at work; else None.

    Of a run on another machine nobody here knows why it was cut off. If it was durable, what it left is repaired as
    after a power cut; that changes nothing where there was none.
    """
    owner = _owner(lock)
    if isinstance(lock, StoreLock):
        return None
    if len(owner) < 3 or owner[2] == (machine_start() or "-"):
        return None
    durable = owner[3:4] == ["durable"]
    return (durable or None) if _elsewhere(owner) else durable


def _elsewhere(owner: list[str]) -> bool:
    """Whether the owner of a lock is a process of another machine."""
    return len(owner) > 4 and owner[4] != socket.gethostname()


def _at_work_here(owner: list[str]) -> bool:
    """Whether the owner of a lock is another process of this machine that lives, and so does its Spark."""
    if len(owner) < 5 or _elsewhere(owner) or int(owner[0]) == os.getpid():
        return False
    return Path(f"/proc/{owner[0]}").exists() and _is_spark(int(owner[1]))


def _owner(lock: IO[str]) -> list[str]:
    """What `note_owner` wrote: process, its Spark, start of the machine, `durable` or -, its name; or nothing."""
    lock.seek(0)
    owner = lock.read(1000).split()
    return owner if all(text.isascii() and text.isdigit() for text in owner[:2]) else []


def machine_start() -> str:
    """Another text after each start of the machine; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _wait_for_old_spark(lock: IO[str], folder: Path) -> None:
    owner = _owner(lock)
    spark = int(owner[1]) if len(owner) > 1 else 0
    mine = owner and int(owner[0]) == os.getpid()
    patience = time.monotonic() + PATIENCE
    if _elsewhere(owner):  # a process of that number is another one here; tasks of the old run find out by the epoch
        return
    while spark and not mine and _is_spark(spark):
        if time.monotonic() > patience:
            raise RunError(
                f"the Spark (process {spark}) of a run that was killed still works on the checkpoint {folder.parent}. "
                "End that process, then start again."
            )
        time.sleep(0.05)


def _is_spark(process: int) -> bool:
    try:
        return b"org.apache.spark" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
