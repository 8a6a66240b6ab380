"""Tables of databases: tuples and the number of their step go in by one transaction, so each is there exactly once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from arterial.connectors.options import quoted
from arterial.connectors.sinks.driver import DriverSink
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Type

STEPS = "arterial_steps"
"""The table that says for each run and output which step is in its table; written in the transaction of the step."""

ATTEMPTS = 6
"""How often a step is tried if the connection is lost."""


@dataclass(frozen=True)
class Column:
    """A column of a table that is there: its type as the database names it, and whether a row must give it a value."""

    type: str
    required: bool = False


class DatabaseSink(DriverSink):
    """Appends tuples to a table, or with `key` keeps the latest tuple of each key there.

    The table is made if there is none, with the types of the stream. One that is there must have all columns of the
    stream, with types that hold their values; with `key`, a primary key or unique index on those columns. What it
    already holds stays.
    """

    types: ClassVar[Mapping[Type, tuple[str, ...]]]
    """The types of columns that hold each type; the first is that of a new table."""

    def __init__(self, table: str = "", key: Sequence[str] = ()) -> None:
        super().__init__()
        self.table, self.key = table, tuple(key)

    @property
    @abstractmethod
    def place(self) -> str:
        """The database, for messages: without passwords."""

    @abstractmethod
    def columns(self, db: Any) -> dict[str, Column]:
        """The columns of the table; none if there is no table."""

    @abstractmethod
    def unique(self, db: Any) -> list[set[str]]:
        """The columns of each primary key and unique index of the table."""

    @abstractmethod
    def insert(self, db: Any, tuples: pl.DataFrame) -> None:
        """Insert the tuples, or replace the rows of their keys, within a transaction."""

    @abstractmethod
    def transaction(self, work: Callable[[Any], None], attempts: int = 1) -> None:
        """Call `work(db)` in a transaction; if the connection was lost, again in another one, up to so many times."""

    @property
    def quoted_table(self) -> str:
        """The table as SQL writes it."""
        return quoted(self.table)

    def bind(self, output: str, stream: Stream, folder: Path) -> DatabaseSink:
        """Check the table against the stream, or make it."""
        super().bind(output, stream, folder)
        self.table = self.table or output
        if missing := [name for name in self.key if name not in stream.schema]:
            raise RunError(
                f"{self._where}: the key {missing[0]!r} is not a column of the output; its columns: "
                f"{', '.join(stream.schema.names)}"
            )
        self.transaction(self._prepare)
        return self

    def put(self, step: int, tuples: pl.DataFrame) -> None:
        """Insert a step, unless the database says that it is there."""
        if self.key:
            tuples = tuples.unique(self.key, keep="last", maintain_order=True)
            if any(tuples[name].null_count() for name in self.key):
                empty = tuples.filter(pl.any_horizontal(pl.col(self.key).is_null())).row(0, named=True)
                raise RunError(
                    f"{self._where}: a tuple has a null in its key ({', '.join(self.key)}): {empty}. Filter such "
                    "tuples out before the output"
                )
        self.transaction(lambda db: self._put_once(db, step, tuples), ATTEMPTS)
        self.step = step

    def insert_statement(self, source: str) -> str:
        """SQL that inserts what `source` gives (VALUES or SELECT), and with a key replaces what the table has."""
        names = ", ".join(map(quoted, self.schema.names))
        text = f"INSERT INTO {self.quoted_table} ({names}) {source}"
        if not self.key:
            return text
        others = [quoted(name) for name in self.schema.names if name not in self.key]
        change = f"UPDATE SET {', '.join(f'{one} = excluded.{one}' for one in others)}" if others else "NOTHING"
        return f"{text} ON CONFLICT ({', '.join(map(quoted, self.key))}) DO {change}"

    def _prepare(self, db: Any) -> None:
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {STEPS} "
            "(run TEXT NOT NULL, output TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (run, output))"
        )
        there = self.columns(db)
        if not there:
            lines = [f"{quoted(field.name)} {self.types[field.type][0]}" for field in self.schema]
            if self.key:
                lines.append(f"PRIMARY KEY ({', '.join(map(quoted, self.key))})")
            db.execute(f"CREATE TABLE {self.quoted_table} ({', '.join(lines)})")
            return
        self._check_columns(there)
        if self.key and set(self.key) not in self.unique(db):
            raise RunError(
                f"{self._where}: to replace rows by {', '.join(self.key)}, the table needs a primary key or unique "
                "index on exactly those columns. Create one, or give another table"
            )

    def _check_columns(self, there: Mapping[str, Column]) -> None:
        faults = []
        for field in self.schema:
            allowed = self.types[field.type]
            if field.name not in there:
                faults.append(f"it has no column {field.name!r} ({allowed[0]})")
            elif there[field.name].type.lower() not in map(str.lower, allowed):
                faults.append(f"column {field.name!r} is {there[field.name].type}; expected {' or '.join(allowed)}")
        for name, column in there.items():
            if name not in self.schema and column.required:
                faults.append(f"its column {name!r} must have a value, and the output has no such column")
        if faults:
            raise RunError(
                f"{self._where}: the table does not fit the output {self.schema}: {'; '.join(faults)}. Change the "
                "table, or give another one with table=NAME: it is made if it does not exist"
            )

    def _put_once(self, db: Any, step: int, tuples: pl.DataFrame) -> None:
        place = f"run = '{self.run}' AND output = {literal(self.output)}"
        found = db.execute(f"SELECT step FROM {STEPS} WHERE {place}").fetchone()
        if found is None:
            db.execute(f"INSERT INTO {STEPS} (run, output, step) VALUES ('{self.run}', {literal(self.output)}, {step})")
        elif found[0] >= step:
            return
        else:
            db.execute(f"UPDATE {STEPS} SET step = {step} WHERE {place}")
        self.insert(db, tuples)

    @property
    def _where(self) -> str:
        return f"output {self.output!r}: {self.place}, table {self.table!r}"


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
