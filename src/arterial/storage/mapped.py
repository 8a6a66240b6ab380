"""Files that are written once, never changed, and mapped by the processes that read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from arterial.storage.remote import RemotePath


def map_file(path: Path) -> pa.Buffer:
    """What lies in a file, where it lies; it stays readable when the file is removed."""
    if isinstance(path, RemotePath):
        return pa.py_buffer(path.read_bytes())
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()
