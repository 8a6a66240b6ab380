"""How long the texts of a Parquet file may be: a few kilobytes of it can stand for gigabytes of text.

A dictionary has each text once, and compressed pages have little of one that repeats itself. What a row group may
take at most is known from its metadata and its dictionaries, without reading its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Group:
    """A row group: its rows, the bytes of its pages, and the longest text of its dictionaries, of some columns."""

    rows: int
    pages: int
    longest: int


def bytes_at_most(path: Path, columns: tuple[str, ...], begin: int, count: int, enough: int) -> tuple[int, int]:
    """About how many bytes the texts of some rows take at most, and the longest of a dictionary; 0 up to `enough`."""
    stat = path.stat()
    groups = _groups(path, columns, stat.st_mtime_ns, stat.st_size, enough)
    first = size = longest = 0
    for group in groups:
        rows = max(0, min(begin + count, first + group.rows) - max(begin, first))
        size += rows * group.longest + group.pages * rows // max(1, group.rows)
        longest = max(longest, group.longest if rows else 0)
        first += group.rows
    return (size, longest) if size > enough else (0, 0)


@lru_cache(maxsize=64)
def _groups(path: Path, columns: tuple[str, ...], changed: int, length: int, enough: int) -> tuple[Group, ...]:
    try:
        with pq.ParquetFile(path, read_dictionary=list(columns)) as file:
            return tuple(_group(file, number, columns, enough) for number in range(file.metadata.num_row_groups))
    except (pa.ArrowException, OSError):
        return ()  # Polars has more to say about it


def _group(file: pq.ParquetFile, number: int, columns: tuple[str, ...], enough: int) -> Group:
    found = file.metadata.row_group(number)
    chunks = [found.column(place) for place in range(found.num_columns)]
    texts = [chunk for chunk in chunks if chunk.path_in_schema in columns and chunk.physical_type == "BYTE_ARRAY"]
    pages = sum(chunk.total_uncompressed_size for chunk in texts)
    longest = 0
    # No text of a dictionary is longer than all pages are.
    for chunk in texts if found.num_rows * pages > enough else ():
        if chunk.has_dictionary_page:
            first = next(file.iter_batches(batch_size=1, row_groups=[number], columns=[chunk.path_in_schema]), None)
            column = None if first is None else first.column(0)
            if isinstance(column, pa.DictionaryArray) and len(column.dictionary):
                longest += pc.max(pc.binary_length(column.dictionary)).as_py() or 0
    return Group(found.num_rows, pages, longest)
