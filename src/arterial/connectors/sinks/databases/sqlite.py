"""A table of a SQLite database, by the driver of the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import polars as pl
import polars.selectors as cs

from arterial.connectors.options import quoted
from arterial.connectors.sinks.databases.database import Column, DatabaseSink
from arterial.errors import RunError
from arterial.network.schema import Type

_WAITING_SECONDS = 30.0
_ROWS_AT_ONCE = 10_000
_WHOLE = ("INTEGER", "BIGINT", "INT", "SMALLINT", "TINYINT", "NUMERIC", "")


class SqliteSink(DatabaseSink):
    """Writes an output to a table of a SQLite file, exactly once.

    Timestamps are texts as `2026-03-01 06:00:00.000000`, in UTC, which SQLite's date functions read; true and false are
    1 and 0. SQLite has no NaN: it becomes null.
    """

    types: ClassVar[Mapping[Type, tuple[str, ...]]] = {
        **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), _WHOLE),
        Type.FLOAT64: ("REAL", "DOUBLE PRECISION", "DOUBLE", "FLOAT", "NUMERIC", ""),
        Type.BOOL: ("BOOLEAN", *_WHOLE),
        Type.STRING: ("TEXT", "VARCHAR", ""),
        Type.TIMESTAMP: ("TIMESTAMP", "DATETIME", "TEXT", ""),
    }

    def __init__(self, path: str | Path, table: str = "", key: Sequence[str] = ()) -> None:
        super().__init__(table, key)
        self.path = Path(path).absolute()

    @property
    def place(self) -> str:
        """The file."""
        return str(self.path)

    def columns(self, db: sqlite3.Connection) -> dict[str, Column]:
        """The columns of the table."""
        rows = db.execute(f"PRAGMA table_info({self.quoted_table})").fetchall()
        return {
            name: Column(kind.partition("(")[0], bool(needed) and default is None and not (key and kind == "INTEGER"))
            for _, name, kind, needed, default, key in rows
        }

    def unique(self, db: sqlite3.Connection) -> list[set[str]]:
        """The columns of each primary key and unique index."""
        keys = [{row[1] for row in db.execute(f"PRAGMA table_info({self.quoted_table})") if row[5]}]
        for _, name, unique, _, partial in db.execute(f"PRAGMA index_list({self.quoted_table})").fetchall():
            if unique and not partial:
                keys.append({row[2] for row in db.execute(f"PRAGMA index_info({quoted(name)})")})
        return keys

    def insert(self, db: sqlite3.Connection, tuples: pl.DataFrame) -> None:
        """Insert the tuples, some thousands at once."""
        statement = self.insert_statement(f"VALUES ({', '.join('?' * tuples.width)})")
        ready = tuples.with_columns(cs.datetime().dt.to_string("%Y-%m-%d %H:%M:%S%.6f"))
        for some in ready.iter_slices(_ROWS_AT_ONCE):
            db.executemany(statement, some.rows())

    def transaction(self, work: Callable[[sqlite3.Connection], None], attempts: int = 1) -> None:
        """Connect, do the work, commit. Another writer is waited for."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAITING_SECONDS, isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                work(db)
                db.execute("COMMIT")
        except (sqlite3.Error, OSError) as fault:
            raise RunError(
                f"{self._where}: {fault}. Nothing is lost: fix it, then start again with the same checkpoint"
            ) from None
