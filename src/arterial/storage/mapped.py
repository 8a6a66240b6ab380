"""Files that are written once, never changed, and mapped by whoever reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa


def write_parts(path: Path, parts: Sequence[Any]) -> None:
    """Write a file from several buffers; if that fails there is none."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for part in parts:
            view = memoryview(part).cast("B") if len(part) else memoryview(b"")
            while view:
                view = view[os.write(file, view) :]
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


def map_file(path: Path) -> pa.Buffer:
    """What lies in a file, where it lies; it stays readable when the file is removed."""
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()
