"""Parquet and Arrow files: their columns, and some rows of some columns."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa

from arterial.connectors.files.far import opened
from arterial.connectors.files.find import PARQUET, DataFile
from arterial.errors import DataError
from arterial.storage.remote import RemotePath

BLOCK_ROWS = 500_000
SHARE_OF_MEMORY = 4
"""Rows that are needed at once may take a quarter of the memory: they are read, sorted, worked on and written."""


def columns_of(file: DataFile) -> Mapping[str, pl.DataType]:
    """The columns of a file and their types."""
    with _readable(file.path, file.kind):
        if isinstance(file.path, RemotePath):
            with opened(file.path, file.kind) as far:
                return far.columns
        return pl.read_parquet_schema(file.path) if file.kind == PARQUET else pl.read_ipc_schema(file.path)


def rows_in(file: DataFile) -> int:
    """How many rows a file has."""
    with _readable(file.path, file.kind):
        if isinstance(file.path, RemotePath):
            with opened(file.path, file.kind) as far:
                return far.height
        return int(_scan(file.path, file.kind).select(pl.len()).collect().item())


def read_rows(path: Path, kind: str, begin: int, count: int, columns: tuple[str, ...]) -> pl.DataFrame:
    """Some rows of a file."""
    with _readable(path, kind):
        if isinstance(path, RemotePath):
            with opened(path, kind) as far:
                return far.read(begin, count, columns)
        return _scan(path, kind).slice(begin, count).select(columns).collect()


def row_blocks(
    file: DataFile, columns: tuple[str, ...], begin: int = 0, size: int = BLOCK_ROWS
) -> Iterator[pl.DataFrame]:
    """The rows of a file from one on, some at a time."""
    for first in range(begin, rows_in(file), size):
        yield read_rows(file.path, file.kind, first, size, columns)


def read_whole(file: DataFile, names: tuple[str, ...]) -> pl.DataFrame:
    """All rows of some columns, unless they are too many for the memory: a file of a few MB may have a billion rows."""
    rows, columns = rows_in(file), columns_of(file)
    if (size := rows * row_bytes(columns[name] for name in names)) > (most := most_bytes()):
        raise DataError(
            f"{file.path}: its {rows:,} rows take {size / 2**30:.1f} GiB, and all of them are needed at once; expected "
            f"at most {most / 2**30:.1f} GiB (a quarter of the memory). Give fewer rows or columns, or more memory"
        )
    return read_rows(file.path, file.kind, 0, rows, names)


def row_bytes(types: Iterable[pl.DataType]) -> int:
    """About so many bytes a row takes in memory."""
    return sum(_BYTES.get(type(kind), 8) for kind in types)


_BYTES: Mapping[type[pl.DataType], int] = {pl.String: 24, pl.Boolean: 1, pl.Int8: 1, pl.Int16: 2, pl.Int32: 4}


@cache
def most_bytes() -> int:
    """What rows that are needed at once may take: a share of the machine's memory, or of a limit below that."""
    most = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    if (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        most.append(limit)
    with suppress(OSError, ValueError):  # a container's; "max" if it has none
        most.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(most) // SHARE_OF_MEMORY


def _scan(path: Path, kind: str) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False) if kind == PARQUET else pl.scan_ipc(path, glob=False)


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn what Polars has to say about a damaged file into our words; some damage makes it panic."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError) as trouble:
        said = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
        raise DataError(f"{path}: cannot be read as {kind}: {said}") from None
