"""Columns in `.npy` files that grow piece by piece, and faults of the disk said clearly."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arterial.errors import ArterialError, DataError, MachineError

_HEADER_BYTES = 128


class ColumnWriter:
    """Appends rows to a `.npy` file whose number of rows is not known beforehand; closing makes it readable.

    It writes rather than maps the file, so that a full disk is an error and not the death of the process.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row_shape, self.rows = path, np.dtype(dtype), row_shape, 0
        self._file = path.open("wb")
        self._file.write(self._header())

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._file.seek(0)
                self._file.write(self._header())
        finally:
            self._file.close()

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        self.rows += len(rows)

    def _header(self) -> bytes:
        return column_header(self.dtype, (self.rows, *self.row_shape))


def column_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first 128 bytes of a `.npy` file of this shape, whatever its number of rows."""
    described = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    room = _HEADER_BYTES - len(b"\x93NUMPY") - 4
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + described.ljust(room - 1).encode() + b"\n"


def reserve(file: BinaryIO, size: int) -> None:
    """Take the disk space of a file that others will write to or map, so that a full disk shows here and not there."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    there = file.seek(0, os.SEEK_END)
    for at in range(there, size, 1 << 20):
        file.write(bytes(min(1 << 20, size - at)))
    file.flush()


def map_column(path: Path) -> NDArray[Any]:
    """A column, mapped into memory and shared with whoever else maps it; read-only."""
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as fault:
        raise machine_fault(fault, path, "read") from fault
    except (ValueError, EOFError) as fault:
        raise DataError(f"{path}: damaged ({fault}). Remove the folder {path.parent} and make it again.") from fault


def machine_fault(fault: OSError, path: Path, verb: str) -> ArterialError:
    """The message for a user whose disk, folder or rights are the problem."""
    where = fault.filename if isinstance(fault.filename, str) else path
    if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return MachineError(
            f"{where}: no room on the disk ({fault.strerror}). Free some, or choose a folder on a larger disk."
        )
    if fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return MachineError(f"{where}: no permission to {verb} it. Choose a folder of your own, or change its rights.")
    if fault.errno == errno.ENOENT:
        return DataError(f"{where}: no such file or folder.")
    if fault.errno in (errno.ENOTDIR, errno.EEXIST):
        return DataError(f"{where}: expected a folder, there is a file. Choose another name.")
    return MachineError(f"{where}: could not {verb} it: {fault.strerror or fault}.")
