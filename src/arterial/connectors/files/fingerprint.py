"""Whether a file is still what was read: by its size, and its time of change or its first and last bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

_ENDS = 65_536
"""So many of the first and of the last bytes count."""


@dataclass(frozen=True)
class Fingerprint:
    """What a file, or its first `size` bytes, looked like."""

    size: int
    changed: int
    """When it was changed, in nanoseconds since 1970; 0 for a piece of a file."""
    ends: str
    """A digest of its first and last bytes."""


def fingerprint(path: Path, size: int | None = None) -> Fingerprint:
    """The fingerprint of a file, or of its first bytes."""
    stat = path.stat()
    size = stat.st_size if size is None else size
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(min(_ENDS, size)))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(min(_ENDS, size)))
    return Fingerprint(size, stat.st_mtime_ns if size == stat.st_size else 0, digest.hexdigest())


def what_changed(path: Path, was: Fingerprint, *, grows: bool = False) -> str | None:
    """How a file differs from its fingerprint, in words; None if it does not. One that `grows` may be longer now."""
    try:
        stat = path.stat()
        if (stat.st_size, stat.st_mtime_ns) == (was.size, was.changed):
            return None
        if stat.st_size < was.size or (stat.st_size > was.size and not grows):
            return f"had {was.size:,} bytes and has {stat.st_size:,} now"
        return None if fingerprint(path, was.size).ends == was.ends else "has other bytes now where it was read"
    except FileNotFoundError:
        return "is gone"
    except OSError as fault:
        return f"cannot be read: {fault.strerror or fault}"
