"""Whether a file is still what was read: by its size, and its time of change or its bytes."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_ENDS = 65_536
"""So many of the first and of the last bytes count."""
_WHOLE = 256 * 1024 * 1024
"""Files up to so many bytes have a digest of all of them; longer ones must keep their time of change."""


@dataclass(frozen=True)
class Fingerprint:
    """What a file, or its first `size` bytes, looked like."""

    size: int
    changed: int
    """When it was changed, in nanoseconds since 1970; 0 for a piece of a file."""
    ends: str
    """A digest of its first and last bytes."""
    whole: str = ""
    """A digest of all its bytes; empty for a piece of a file, and for a long one."""

    @property
    def is_by_time(self) -> bool:
        """Whether no digest has all its bytes, so that its time of change decides."""
        return bool(self.changed) and not self.whole and self.size > 2 * _ENDS


def fingerprint(path: Path, size: int | None = None, most: int = _WHOLE) -> Fingerprint:
    """The fingerprint of a file, or of its first bytes; up to `most` bytes all of them are read for it."""
    stat = path.stat()
    whole = _digest(path, stat.st_mtime_ns, stat.st_size) if size is None and 2 * _ENDS < stat.st_size <= most else ""
    size = stat.st_size if size is None else size
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(min(_ENDS, size)))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(min(_ENDS, size)))
    return Fingerprint(size, stat.st_mtime_ns if size == stat.st_size else 0, digest.hexdigest(), whole)


def what_changed(path: Path, was: Fingerprint, *, grows: bool = False) -> str | None:
    """How a file differs from its fingerprint, in words; None if it does not. One that `grows` may be longer now."""
    try:
        stat = path.stat()
        if (stat.st_size, stat.st_mtime_ns) == (was.size, was.changed):
            return None
        if stat.st_size < was.size or (stat.st_size > was.size and not grows):
            return f"had {was.size:,} bytes and has {stat.st_size:,} now"
        same = fingerprint(path, was.size).ends == was.ends
        if same and was.whole and stat.st_size == was.size:
            same = _digest(path, stat.st_mtime_ns, stat.st_size) == was.whole
        if same and was.is_by_time and not grows:
            then, now = (time.strftime("%F %T", time.localtime(at / 1e9)) for at in (was.changed, stat.st_mtime_ns))
            since = f"{was.changed // 10**9}.{was.changed % 10**9:09d}"
            return (
                f"was last changed at {then} and is at {now} now, and it is too long to compare all of it (if its "
                f"bytes are the same, set its time back: touch -d @{since} FILE)"
            )
        return None if same else "has other bytes now where it was read"
    except FileNotFoundError:
        return "is gone"
    except OSError as fault:
        return f"cannot be read: {fault.strerror or fault}"


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    """Of all bytes; remembered, since every step that reads a file in its place asks whether that is still the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
