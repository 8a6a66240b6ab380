"""One run at a time on a checkpoint: a lock that is gone when its process is, and Spark's own process with it."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from arterial.errors import RunError

LOCK_FILE = "lock"
PATIENCE = 20.0
"""Seconds to wait for the Spark of a driver that was killed: it ends itself soon after, but not at once."""
_ATTEMPTS = 5


def lock_checkpoint(folder: Path) -> IO[str]:
    """Take the lock, or refuse because another run has it. Closing the file gives it back."""
    lock = (folder / LOCK_FILE).open("a+")
    if not _take(lock):
        lock.seek(0)
        owner = lock.read().split()
        lock.close()
        by = f" (process {owner[0]})" if owner else ""
        raise RunError(
            f"another run{by} uses the checkpoint {folder.parent}. Stop it first, or give another folder as checkpoint."
        )
    _wait_for_old_spark(lock, folder)
    return lock


def _take(lock: IO[str]) -> bool:
    """Take it; who only looks whether it is taken (`arterial status`) holds it for an instant."""
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.02 if attempt + 1 < _ATTEMPTS else 0)
        else:
            return True
    return False


def note_owner(lock: IO[str], spark: int | None) -> None:
    """Write down who has the lock: this process, and that of its Spark."""
    lock.seek(0)
    lock.truncate()
    lock.write(f"{os.getpid()} {spark or 0}\n")
    lock.flush()


def _wait_for_old_spark(lock: IO[str], folder: Path) -> None:
    lock.seek(0)
    owner = lock.read().split()
    spark = int(owner[1]) if len(owner) > 1 else 0
    mine = owner and int(owner[0]) == os.getpid()
    patience = time.monotonic() + PATIENCE
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
