"""Parquet and Arrow files in a store: only the row groups, or record batches, that are wanted are fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import polars as pl
import pyarrow as pa

from arterial.connectors.files.find import PARQUET
from arterial.storage.remote import RemotePath


@dataclass(frozen=True)
class FarFile:
    """An open file; `groups` are the numbers of rows of its groups."""

    groups: Sequence[int]
    schema: pa.Schema
    file: Any

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """Its columns and their types."""
        return _frame(self.schema.empty_table()).schema

    @property
    def height(self) -> int:
        """How many rows it has."""
        return sum(self.groups)

    def read(self, begin: int, count: int, columns: Sequence[str]) -> pl.DataFrame:
        """Some rows of some columns."""
        ends = list(accumulate(self.groups))
        wanted = [n for n, end in enumerate(ends) if end > begin and end - self.groups[n] < begin + count]
        if not wanted:
            return _frame(self.schema.empty_table().select(list(columns)))
        if isinstance(self.file, pa.ipc.RecordBatchFileReader):
            table = pa.Table.from_batches([self.file.get_batch(n) for n in wanted]).select(list(columns))
        else:
            table = self.file.read_row_groups(wanted, columns=list(columns)).select(list(columns))
        return _frame(table.slice(begin - (ends[wanted[0]] - self.groups[wanted[0]]), count))


@contextmanager
def opened(path: RemotePath, kind: str) -> Iterator[FarFile]:
    """A file of a store, open for as long as it is read."""
    import pyarrow.parquet as pq

    with path.open("rb") as source:
        if kind == PARQUET:
            file = pq.ParquetFile(source)
            footer = file.metadata
            groups = [footer.row_group(n).num_rows for n in range(footer.num_row_groups)]
            yield FarFile(groups, file.schema_arrow, file)
        else:
            batches = pa.ipc.open_file(source)
            groups = [batches.get_batch(n).num_rows for n in range(batches.num_record_batches)]
            yield FarFile(groups, batches.schema, batches)


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
