"""Events as a table: the columns of a Parquet file of events, and the lines of a CSV file that they stand for."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

EVENT_SCHEMA = pa.schema(
    [
        ("t", pa.float64()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("id", pa.string()),
        ("focal", pa.string()),
        ("k", pa.int32()),
        ("x1", pa.float64()),
        ("y1", pa.float64()),
        ("x2", pa.float64()),
        ("y2", pa.float64()),
    ]
)
"""The columns of a Parquet file of events. xdist and ydist are x1 and y1."""


def csv_lines(events: pl.DataFrame) -> bytes:
    """The events as lines of a CSV file of events."""
    t = pl.col("t")
    time = pl.when(t == t.floor()).then(t.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(t.cast(pl.String))
    corner = pl.concat_str(["x1", "y1"], separator=",")
    fields = (
        pl.when(pl.col("kind") == "object")
        .then(corner)
        .when(pl.col("kind") == "range")
        .then(pl.concat_str(["x1", "y1", "x2", "y2"], separator=","))
        .when(pl.col("kind") == "movingrange")
        .then(pl.concat_str(["focal", "x1", "y1"], separator=","))
        .when(pl.col("kind") == "knn")
        .then(pl.concat_str(["k", "x1", "y1"], separator=","))
        .when(pl.col("kind") == "movingknn")
        .then(pl.concat_str(["k", "focal"], separator=","))
    )
    # What is null stays out of the line, which then is no event.
    line = pl.concat_str([time, "kind", "id", fields], separator=",", ignore_nulls=True)
    return ("\n".join(events.select(line).to_series().to_list()) + "\n").encode()
