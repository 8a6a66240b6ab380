"""Merges the expressways of a city into one CSV file, the paper's flat file: 15 integers a line, ordered by time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from arterial.linearroad.formats.events import EVENT_SCHEMA


def merge_to_csv(files: list[Path], target: Path, done: Callable[[float], None]) -> None:
    """Merge Parquet files of which the n-th row groups all cover the same seconds."""
    sources = [pq.ParquetFile(file) for file in files]
    written = 0
    with pc.CSVWriter(target, EVENT_SCHEMA, write_options=pc.WriteOptions(include_header=False)) as writer:
        for group in range(sources[0].num_row_groups):
            table = pa.concat_tables([source.read_row_group(group) for source in sources])
            if len(sources) > 1:
                # Within a second the expressways keep their order, so that the file is always the same.
                table = table.take(np.argsort(table["time"].to_numpy(), kind="stable"))
            writer.write_table(table)
            written += table.num_rows
            done(written)
