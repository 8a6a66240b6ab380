"""Parquet and Arrow files: their columns, and some rows of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from arterial.connectors.files.find import PARQUET, DataFile
from arterial.errors import DataError

BLOCK_ROWS = 500_000


def columns_of(file: DataFile) -> Mapping[str, pl.DataType]:
    """The columns of a file and their types."""
    with _readable(file.path, file.kind):
        return pl.read_parquet_schema(file.path) if file.kind == PARQUET else pl.read_ipc_schema(file.path)


def rows_in(file: DataFile) -> int:
    """How many rows a file has."""
    with _readable(file.path, file.kind):
        return int(_scan(file.path, file.kind).select(pl.len()).collect().item())


def read_rows(path: Path, kind: str, begin: int, count: int, columns: tuple[str, ...]) -> pl.DataFrame:
    """Some rows of a file."""
    with _readable(path, kind):
        return _scan(path, kind).slice(begin, count).select(columns).collect()


def row_blocks(
    file: DataFile, columns: tuple[str, ...], begin: int = 0, size: int = BLOCK_ROWS
) -> Iterator[pl.DataFrame]:
    """The rows of a file from one on, some at a time."""
    for first in range(begin, rows_in(file), size):
        yield read_rows(file.path, file.kind, first, size, columns)


def _scan(path: Path, kind: str) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False) if kind == PARQUET else pl.scan_ipc(path, glob=False)


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn what Polars has to say about a damaged file into our words; some damage makes it panic."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as trouble:
        said = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
        raise DataError(f"{path}: cannot be read as {kind}: {said}") from None
