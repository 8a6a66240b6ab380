"""How long the files of a `FileSink` are kept: those of finished steps that are older are removed."""

from __future__ import annotations

import time
from pathlib import Path

from arterial.connectors.sinks.files.compaction import all_files
from arterial.errors import NetworkError, RunError
from arterial.network.duration import Duration, units
from arterial.network.schema import Type
from arterial.storage.place import remove

_EVERY = 16
"""It looks for old files after so many steps."""


def seconds_of(keep: Duration, where: str) -> float:
    """A retention in seconds."""
    try:
        return units(keep, Type.TIMESTAMP, "keep") / 1e6
    except NetworkError as mistake:
        raise RunError(f"{where}: {mistake}; expected a duration such as 7 days") from None


def remove_old(folder: Path, keep: float, step: int) -> None:
    """Remove the files that were written more than `keep` seconds ago; `step` is not finished yet."""
    if step % _EVERY:
        return
    oldest = time.time() - keep
    for file in all_files(folder):
        if file.last < step and _written(file.path) < oldest:
            remove(file.path)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # merged just now
        return time.time()
