"""Tables and views of SQLite and PostgreSQL, read whole in one transaction."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.options import quoted
from arterial.connectors.postgres import Postgres, qualified
from arterial.connectors.tables.source import TableSource, check_key
from arterial.connectors.times import parse_times
from arterial.errors import ArterialError, DataError
from arterial.network.schema import Schema, Type, within_years

_WAITING_SECONDS = 30.0
_LARGEST: Mapping[Type, int] = {Type.INT8: 2**7, Type.INT16: 2**15, Type.INT32: 2**31, Type.INT64: 2**63}


@dataclass(frozen=True)
class DatabaseTable(TableSource):
    """A table or view of a database; a subclass says how its rows are fetched.

    Columns that the relation does not have are not read. A value that does not fit its column, and a key that comes
    twice, are errors, as in a file.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """The database and the table, for messages: without passwords."""

    @abstractmethod
    def fetch(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """All rows of these columns; raises `DataError`."""

    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows, in the order of the key, so that the same rows are always the same frame."""
        rows = self.fetch(schema.names)
        columns = []
        for at, column in enumerate(schema):
            values = [row[at] for row in rows]
            found = as_column(column.name, column.type, values)
            wrong = [
                number for number, fits in enumerate(found.is_not_null()) if not fits and values[number] is not None
            ]
            if wrong:
                key = ", ".join(f"{name} {rows[wrong[0]][schema.names.index(name)]!r}" for name in self.key)
                raise DataError(
                    f"source {self.name!r}: {self.place}: row {key or 1}: {column.name} is {values[wrong[0]]!r}, "
                    f"expected {column.type}"
                )
            columns.append(found)
        frame = pl.DataFrame(columns)
        check_key(frame, self.key, self.name, f"source {self.name!r}: {self.place}", range(1, len(rows) + 1), "row")
        return frame.sort(self.key) if self.key else frame


@dataclass(frozen=True)
class SqliteTable(DatabaseTable):
    """A table of a SQLite file: `SqliteTable("city.db", "places", refresh="1 minute")`.

    The table has the relation's name unless it is given. Times are texts (without a zone: UTC) or numbers of seconds.
    """

    path: str | Path = ""
    table: str = ""

    @property
    def place(self) -> str:
        """File and table."""
        return f"{self.path}, table {self.table or self.name!r}"

    def fetch(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """All rows; a writer is waited for."""
        path = Path(self.path)
        if not path.is_file():
            raise DataError(f"source {self.name!r}: {path} does not exist; expected a SQLite file")
        try:
            address = f"{path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAITING_SECONDS)) as db:
                there = [row[1] for row in db.execute(f"PRAGMA table_info({quoted(self.table or self.name)})")]
                check_there(self, there, names)
                listed = ", ".join(map(quoted, names))
                return db.execute(f"SELECT {listed} FROM {quoted(self.table or self.name)}").fetchall()
        except sqlite3.Error as fault:
            raise DataError(f"source {self.name!r}: {self.place}: {fault}") from None


@dataclass(frozen=True)
class PostgresTable(DatabaseTable):
    """A table of PostgreSQL: `PostgresTable({"host": "db", "dbname": "city"}, "places", refresh="1 minute")`.

    `connection` has the parameters of libpq, as for `PostgresSink`. The table has the relation's name unless it is
    given, and may be SCHEMA.TABLE. Times without a zone are UTC.
    """

    connection: Mapping[str, Any] | Postgres = field(default_factory=dict, repr=False)
    table: str = ""
    password_env: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.connection, Postgres):
            object.__setattr__(self, "connection", Postgres(self.connection, self.password_env))

    @property
    def place(self) -> str:
        """Server, database and table."""
        return f"{self._server.place}, table {self.table or self.name!r}"

    def fetch(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """All rows."""
        where = f"source {self.name!r}: {self.place}"
        table = qualified(self.table or self.name)
        try:
            with self._server.connect(where) as db:
                found = db.execute(
                    b"SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
                    b"AND NOT attisdropped ORDER BY attnum",
                    [table],
                )
                check_there(self, [row[0] for row in found.fetchall()], names)
                listed = ", ".join(map(quoted, names))
                return db.execute(f"SELECT {listed} FROM {table}".encode()).fetchall()
        except ArterialError:
            raise
        except Exception as fault:
            import psycopg

            if not isinstance(fault, psycopg.Error):
                raise
            raise DataError(f"{where}: {self._server.reason(fault)}") from None

    @property
    def _server(self) -> Postgres:
        assert isinstance(self.connection, Postgres)
        return self.connection


def check_there(table: DatabaseTable, there: Sequence[str], names: Sequence[str]) -> None:
    """Raise unless the table exists and has all of these columns."""
    where = f"source {table.name!r}: {table.place}"
    if not there:
        raise DataError(f"{where}: there is no such table; name it with table=NAME")
    if missing := [name for name in names if name not in there]:
        raise DataError(f"{where}: the column {', '.join(map(repr, missing))} is missing; it has: {', '.join(there)}")


def as_column(name: str, kind: Type, values: Sequence[Any]) -> pl.Series:
    """Values as a database gives them as a column; null where one does not fit."""
    if kind is Type.TIMESTAMP:
        texts = pl.Series(name, [_time_text(value) for value in values], pl.String)
        return within_years(parse_times(texts, unit="s", timezone=None)).rename(name)
    return pl.Series(name, [_fitted(kind, value) for value in values], kind.polars)


def _fitted(kind: Type, value: Any) -> Any:
    if kind is Type.STRING:
        return value if isinstance(value, str) else None
    if kind is Type.BOOL:
        return bool(value) if isinstance(value, bool | int) and value in (0, 1) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if kind is Type.FLOAT64:
        return float(value)
    number: Any = value
    fits = number == number and -_LARGEST[kind] <= number < _LARGEST[kind] and number == int(number)
    return int(number) if fits else None


def _time_text(value: Any) -> str | None:
    if isinstance(value, datetime):
        try:
            return (value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value).isoformat()
        except OverflowError:  # in UTC it is not of the years 1 to 9999
            return None
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | date):
        return None
    return str(value)
