"""The columns of Parquet and Arrow files, and some of their rows."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa

from arterial.connectors.files.columnar.damage import check_pages
from arterial.connectors.files.columnar.far import opened
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
        if file.kind == PARQUET:
            return pl.read_parquet_schema(file.path)
        columns = pl.read_ipc_schema(file.path)
    _check_names(file.path)
    return columns


def _check_names(path: Path) -> None:
    """Raise if two columns of an Arrow file have the same name, which Polars does not see."""
    # Imported here: only Arrow files need it.
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            names = pa.ipc.open_file(file).schema.names
    except (pa.ArrowException, OSError):
        return  # Polars has more to say about it
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"{path}: two columns are named {twice!r}")


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
                found = far.read(begin, count, columns)
            _check_texts(path, text_bytes(found), found.height)
            return found
        if kind == PARQUET and count:
            check_pages(path, columns, begin, count)
        wanted, texts = _scan(path, kind).select(columns), 0
        at_once = _rows_at_once(path, kind, wanted, begin, count)
        pieces = []
        for first in range(begin, begin + count, at_once):
            pieces.append(wanted.slice(first, min(at_once, begin + count - first)).collect())
            texts += text_bytes(pieces[-1])
            _check_texts(path, texts, sum(piece.height for piece in pieces))
            if pieces[-1].height < at_once:
                break
        return pl.concat(pieces) if pieces else wanted.slice(0, 0).collect()


def _check_texts(path: Path, size: int, rows: int) -> None:
    if size > (most := most_bytes()):
        raise DataError(
            f"{path}: the texts of {rows:,} rows that are needed at once take more than {most / 2**30:.1f} GiB "
            "(a quarter of the memory). Give fewer columns, shorter texts, or more memory"
        )


def text_bytes(rows: pl.DataFrame) -> int:
    """How many bytes the texts of some rows have."""
    size = 0
    for column in rows.iter_columns():
        if column.dtype == pl.String:
            size += int(column.str.len_bytes().sum())
        elif isinstance(column.dtype, pl.Categorical | pl.Enum):
            size += int(column.cat.len_bytes().sum())
    return size


def _rows_at_once(path: Path, kind: str, wanted: pl.LazyFrame, begin: int, count: int) -> int:
    """How many rows may be read together; fewer where a dictionary has texts so long that the memory may not do."""
    columns = wanted.collect_schema()
    texts = tuple(name for name, found in columns.items() if found == pl.String)
    if kind != PARQUET or not texts or not count:
        return max(1, count)
    # Imported here: it takes a while, and few files need it.
    from arterial.connectors.files.columnar.texts import bytes_at_most

    most = most_bytes()
    size, longest = bytes_at_most(path, texts, begin, count, most)
    if size and not longest:
        raise DataError(
            f"{path}: the texts of {count:,} rows that are needed at once may take {size / 2**30:.1f} GiB; expected at "
            f"most {most / 2**30:.1f} GiB (a quarter of the memory). Give fewer columns, smaller row groups, or more "
            "memory"
        )
    return max(1, most // (4 * longest)) if size else count


def row_blocks(file: DataFile, columns: tuple[str, ...], size: int = BLOCK_ROWS) -> Iterator[pl.DataFrame]:
    """The rows of a file, some at a time."""
    for first in range(0, rows_in(file), size):
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
    except UnicodeDecodeError:
        raise DataError(f"{path}: cannot be read as {kind}: a column's name is not UTF-8") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError) as trouble:
        said = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
        raise DataError(f"{path}: cannot be read as {kind}: {said}") from None
