"""A CSV or Parquet file as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.csv import read_texts
from arterial.connectors.files.columnar import read_whole
from arterial.connectors.frames import frame_from
from arterial.connectors.tables.source import TableSource, check_key
from arterial.connectors.values import TimeOptions, from_texts, wrong_values
from arterial.errors import DataError
from arterial.network.schema import Schema


@dataclass(frozen=True)
class FileTable(TableSource):
    """A CSV file with a header, or a Parquet file, as a table: `FileTable("places.csv", refresh="1 minute")`.

    A value that does not fit its column, and a key that comes twice, are errors: half a table would give wrong answers.
    """

    path: str | Path = ""

    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows of the file."""
        path = Path(self.path)
        lines: Any
        if not path.is_file():
            raise DataError(f"source {self.name!r}: {path} does not exist; expected a CSV or Parquet file")
        if path.suffix.lower() == ".parquet":
            rows = frame_from(read_whole(path), schema, str(path))
            what, lines = "row", range(1, rows.height + 1)
        else:
            what, (rows, lines) = "line", _from_csv(path, schema)
        check_key(rows, self.key, self.name, str(path), lines, what)
        return rows

    def mark(self) -> object:
        """When it was written, and how long it is; None if there is no file."""
        try:
            found = Path(self.path).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _from_csv(path: Path, schema: Schema) -> tuple[pl.DataFrame, Any]:
    found = read_texts(path)
    if found.rejects:
        raise DataError(f"{path}: line {found.rejects[0].line}: {found.rejects[0].reason}")
    if missing := [name for name in schema.names if name not in found.rows.columns]:
        raise DataError(
            f"{path}: line 1: the column {', '.join(map(repr, missing))} is missing; "
            f"it has: {', '.join(found.rows.columns)}"
        )
    texts = found.rows.select(schema.names)
    rows = from_texts(texts, schema, TimeOptions())
    wrong = wrong_values(texts, rows)
    for name in schema.names:
        places = wrong[name].arg_true()
        if len(places):
            at = int(places[0])
            raise DataError(f"{path}: line {found.lines[at]}: {name} is {texts[name][at]!r}, expected {schema[name]}")
    return rows, found.lines
