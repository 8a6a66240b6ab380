"""Tuples as lines of JSON: one object a line, timestamps as ISO 8601 in UTC with Z, NaN and infinities as null."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import polars as pl
import polars.selectors as cs

from arterial.network.schema import Schema, Type

TIME_FORMAT, _READ = "%Y-%m-%dT%H:%M:%S%.6fZ", "%Y-%m-%dT%H:%M:%S%.fZ"


def write_json_lines(tuples: pl.DataFrame, file: BinaryIO) -> None:
    """Write tuples to an open file."""
    if tuples.height:  # polars writes an empty line for a frame without rows
        tuples.with_columns(cs.datetime().dt.to_string(TIME_FORMAT)).write_ndjson(file)


def read_json_lines(source: Path | bytes, schema: Schema) -> pl.DataFrame:
    """The tuples of a file that `write_json_lines` wrote."""
    if not (len(source) if isinstance(source, bytes) else source.stat().st_size):
        return schema.empty()
    times = [field.name for field in schema if field.type is Type.TIMESTAMP]
    texts = {**schema.polars(), **{name: pl.String() for name in times}}
    return pl.read_ndjson(source, schema=texts).with_columns(pl.col(times).str.to_datetime(_READ, time_unit="us"))
