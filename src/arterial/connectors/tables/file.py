"""A file as a table: CSV, JSON lines, Parquet or Arrow, as a source of files reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from arterial.connectors.csv import Texts, printable, read_texts
from arterial.connectors.files.columnar.reading import columns_of, read_whole
from arterial.connectors.files.find import CSV, DataFile, data_file
from arterial.connectors.files.json_lines import read_all
from arterial.connectors.frames import check_columns
from arterial.connectors.tables.source import TableSource, check_key
from arterial.connectors.values import TimeOptions, from_columns, from_texts, recognised, wrong_values
from arterial.errors import DataError
from arterial.network.schema import Schema
from arterial.storage.remote import path_of


@dataclass(frozen=True)
class FileTable(TableSource):
    """A file as a table: `FileTable("places.csv", refresh="1 minute")`.

    It is CSV with a header, JSON lines, Parquet or Arrow, text also compressed. A value that does not fit its column,
    and a key that comes twice, are errors: half a table would give wrong answers.
    """

    path: str | Path = ""

    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows of the file."""
        path = path_of(self.path)
        if not path.is_file():
            raise DataError(
                f"source {self.name!r}: {path} does not exist; expected a file of CSV, JSON lines, Parquet or Arrow"
            )
        file = data_file(path)
        if file.is_text:
            found = _texts_of(file, schema)
            options = recognised(found.rows, schema, TimeOptions())
            rows = from_texts(found.rows, schema, options)
        else:
            columns = columns_of(file)
            check_columns(columns, schema, str(path), reads_times=True)
            values = read_whole(file, schema.names)
            found = Texts(values, range(1, values.height + 1))
            options = recognised(values, schema, TimeOptions())
            rows = from_columns(values, schema, options)
        what = "line" if file.is_text else "row"
        _check_values(path, found, rows, schema, what, options)
        check_key(rows, self.key, self.name, str(path), found.lines, what)
        return rows

    def mark(self) -> object:
        """When it was written, and how long it is; None if there is no file."""
        try:
            found = path_of(self.path).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _check_values(
    path: Path, found: Texts, rows: pl.DataFrame, schema: Schema, what: str, options: TimeOptions
) -> None:
    """Raise at the first value that is not of its type."""
    wrong = wrong_values(found.rows, rows)
    for column in schema:
        places = wrong[column.name].arg_true()
        if len(places):
            at = int(places[0])
            value = printable(found.rows[[at]])[column.name][0]
            expected = options.expected(column, value).partition(";")[0]  # a table has no options for its times
            raise DataError(f"{path}: {what} {found.lines[at]}: {column.name} is {value!r}, expected {expected}")


def _texts_of(file: DataFile, schema: Schema) -> Texts:
    """The columns of a schema as texts, with the line of each row."""
    with file.open() as stream:
        found = read_texts(file.path, opened=stream) if file.kind == CSV else read_all(stream, schema.names)
    if found.rejects:
        raise DataError(f"{file.path}: line {found.rejects[0].line}: {found.rejects[0].reason}")
    if missing := [name for name in schema.names if name not in found.rows.columns]:
        raise DataError(
            f"{file.path}: line 1: the column {', '.join(map(repr, missing))} is missing; "
            f"it has: {', '.join(found.rows.columns)}"
        )
    return Texts(found.rows.select(schema.names), found.lines)
