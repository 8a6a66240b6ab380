"""Parquet and Arrow files: their columns, and some rows of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from arterial.connectors.files.find import PARQUET, DataFile
from arterial.errors import DataError

BLOCK_ROWS = 500_000


def columns_of(file: DataFile) -> Mapping[str, pl.DataType]:
    """The columns of a file and their types."""
    try:
        return pl.read_parquet_schema(file.path) if file.kind == PARQUET else pl.read_ipc_schema(file.path)
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{file.path}: cannot be read as {file.kind}: {_first_line(trouble)}") from None


def rows_in(file: DataFile) -> int:
    """How many rows a file has."""
    try:
        return int(_scan(file.path, file.kind).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{file.path}: cannot be read as {file.kind}: {_first_line(trouble)}") from None


def read_rows(path: Path, kind: str, begin: int, count: int, columns: tuple[str, ...]) -> pl.DataFrame:
    """Some rows of a file."""
    try:
        return _scan(path, kind).slice(begin, count).select(columns).collect()
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{path}: cannot be read as {kind}: {_first_line(trouble)}") from None


def row_blocks(
    file: DataFile, columns: tuple[str, ...], begin: int = 0, size: int = BLOCK_ROWS
) -> Iterator[pl.DataFrame]:
    """The rows of a file from one on, some at a time."""
    for first in range(begin, rows_in(file), size):
        yield read_rows(file.path, file.kind, first, size, columns)


def _scan(path: Path, kind: str) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False) if kind == PARQUET else pl.scan_ipc(path, glob=False)


def _first_line(trouble: Exception) -> str:
    return (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
