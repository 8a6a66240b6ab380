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
    return int(_scan(file.path, file.kind).select(pl.len()).collect().item())


def read_rows(path: Path, kind: str, begin: int, count: int, columns: tuple[str, ...]) -> pl.DataFrame:
    """Some rows of a file."""
    try:
        return _scan(path, kind).slice(begin, count).select(columns).collect()
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{path}: cannot be read as {kind}: {_first_line(trouble)}") from None


def row_blocks(file: DataFile, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """All rows of a file, some at a time."""
    for begin in range(0, rows_in(file), BLOCK_ROWS):
        yield read_rows(file.path, file.kind, begin, BLOCK_ROWS, columns)


def _scan(path: Path, kind: str) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False) if kind == PARQUET else pl.scan_ipc(path, glob=False)


def _first_line(trouble: Exception) -> str:
    return (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
