"""The headers of a Parquet file's pages: whether they say what can be, before Polars believes them.

A damaged or hostile header may claim more values than there is memory for, which ends the process without a word. The
headers are in Thrift's compact form; only how many values a page has, and how long it is, is looked at.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from arterial.errors import DataError

_HEADERS = (512, 1 << 16)
"""So many bytes are read of a header; more if that is not all, since its statistics may have a text."""

_SLACK = 128
"""Some writers count the pages of a column without the header of its dictionary."""

_UNCOMPRESSED, _COMPRESSED = 2, 3
_DATA, _DICTIONARY, _DATA_2 = 5, 7, 8
"""The fields of a header that say what kind of page it is; the first field of each is the number of its values."""
_STRUCT, _BINARY, _TRUE, _FALSE, _BYTE, _DOUBLE = 12, 8, 1, 2, 3, 7
_WHOLE = (4, 5, 6)
"""The types of fields."""


def check_pages(path: Path, columns: tuple[str, ...], begin: int, count: int) -> None:
    """Raise if a page that is read for some rows of these columns has a header that cannot be."""
    stat = path.stat()
    version = (path, stat.st_mtime_ns, stat.st_size)
    first = 0
    for number, rows in enumerate(_group_rows(*version)):
        if first < begin + count and first + rows > begin:
            _check_group(*version, number, columns)
        first += rows


@lru_cache(maxsize=64)
def _group_rows(path: Path, changed: int, length: int) -> tuple[int, ...]:
    found = _metadata(path, changed, length)
    if found is None:
        return ()  # Polars has more to say about it
    return tuple(found.row_group(number).num_rows for number in range(found.num_row_groups))


@lru_cache(maxsize=4096)
def _check_group(path: Path, changed: int, length: int, number: int, columns: tuple[str, ...]) -> None:
    group = _metadata(path, changed, length).row_group(number)
    with path.open("rb") as file:
        for chunk in (group.column(place) for place in range(group.num_columns)):
            column = chunk.path_in_schema  # of a nested one the name stands before a dot, which any may have in it
            if (column in columns or column.partition(".")[0] in columns) and not _can_be(file, chunk, length):
                raise DataError(
                    f"{path}: cannot be read as parquet: it is damaged in row group {number}, column {column!r}: a "
                    "page's header says what cannot be"
                )


@lru_cache(maxsize=8)
def _metadata(path: Path, changed: int, length: int) -> Any:
    # Imported here: it takes a while, and only Parquet files need it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return None


def _can_be(file: BinaryIO, chunk: Any, length: int) -> bool:
    """Whether the pages of a column lie within it, and have as many values as it."""
    begins = (chunk.dictionary_page_offset, chunk.data_page_offset)
    at = min(begin for begin in begins if begin is not None)
    end, left = at + chunk.total_compressed_size, chunk.num_values
    if not 0 <= at <= end <= length or left < 0:
        return False
    while left > 0 and at < end:
        header = _header(file, at)
        if header is None:
            return False
        fields, size = header
        page = next((fields[kind] for kind in (_DATA, _DATA_2, _DICTIONARY) if kind in fields), None)
        values = page.get(1) if isinstance(page, dict) else None
        compressed, uncompressed = fields.get(_COMPRESSED), fields.get(_UNCOMPRESSED)
        if not (isinstance(values, int) and isinstance(compressed, int) and isinstance(uncompressed, int)):
            return False
        at += size + compressed
        if min(values, compressed, uncompressed) < 0 or at > min(end + _SLACK, length):
            return False
        if _DICTIONARY not in fields:
            left -= values
        elif values > 8 * uncompressed:
            return False
    return bool(left == 0)


def _header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int] | None:
    """The fields of a page's header and its length."""
    for most in _HEADERS:
        file.seek(at)
        with suppress(IndexError):
            return _struct(file.read(most), 0)
    return None


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends."""
    if depth > 8:
        raise IndexError
    fields: dict[int, Any] = {}
    number = 0
    while kind := data[at]:
        step, kind = kind >> 4, kind & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _whole(data, at)
        fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return None, at + size
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    if kind not in _WHOLE:  # lists and maps: no header has one
        raise IndexError
    return _whole(data, at)


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """A whole number with its sign in the last bit."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise IndexError
