"""A table of a PostgreSQL database, by psycopg (the extra `postgres`)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from arterial.connectors.sinks.database import Column, DatabaseSink, quoted
from arterial.errors import MachineError, RunError
from arterial.network.schema import Type

if TYPE_CHECKING:
    import psycopg

_ROWS_AT_ONCE = 50_000
_WHOLE = ("smallint", "integer", "bigint", "numeric")


class PostgresSink(DatabaseSink):
    """Writes an output to a table of PostgreSQL, exactly once, by COPY.

    `connection` holds what libpq calls parameters (host, port, user, dbname, sslmode, …). The password may be among
    them; else it comes from the environment variable named by `password_env`, from PGPASSWORD or ~/.pgpass. It stays on
    the driver and in memory. A `table` may be SCHEMA.TABLE. Timestamps are stored as UTC.
    """

    types: ClassVar[Mapping[Type, tuple[str, ...]]] = {
        Type.INT8: _WHOLE,
        Type.INT16: _WHOLE,
        Type.INT32: _WHOLE[1:],
        Type.INT64: _WHOLE[2:],
        Type.FLOAT64: ("double precision",),
        Type.BOOL: ("boolean",),
        Type.STRING: ("text", "character varying"),
        Type.TIMESTAMP: ("timestamp with time zone", "timestamp without time zone"),
    }

    def __init__(
        self, connection: Mapping[str, Any], table: str = "", key: Sequence[str] = (), password_env: str = ""
    ) -> None:
        super().__init__(table, key)
        self.connection = {name: value for name, value in connection.items() if name != "password"}
        self._given_password, self.password_env = str(connection.get("password", "")), password_env

    @property
    def place(self) -> str:
        """Server and database."""
        host, port = self.connection.get("host", "localhost"), self.connection.get("port", 5432)
        return f"PostgreSQL at {host}:{port}, database {self.connection.get('dbname', '')!r}"

    def columns(self, db: psycopg.Connection[Any]) -> dict[str, Column]:
        """The columns of the table."""
        rows = db.execute(
            b"SELECT attname, format_type(atttypid, NULL), attnotnull AND NOT atthasdef AND attidentity = '' "
            b"FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [_qualified(self.table)],
        ).fetchall()
        return {name: Column(kind, required) for name, kind, required in rows}

    def unique(self, db: psycopg.Connection[Any]) -> list[set[str]]:
        """The columns of each primary key and unique index."""
        rows = db.execute(
            b"SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = "
            b"ANY(indkey) WHERE indrelid = to_regclass(%s) AND indisunique AND indpred IS NULL AND indexprs IS NULL "
            b"GROUP BY indexrelid",
            [_qualified(self.table)],
        ).fetchall()
        return [set(names) for (names,) in rows]

    def insert(self, db: psycopg.Connection[Any], tuples: pl.DataFrame) -> None:
        """Copy the tuples in; with a key by way of a temporary table."""
        names = ", ".join(map(quoted, tuples.columns))
        target = self.quoted_table
        if self.key:
            db.execute(
                f"CREATE TEMPORARY TABLE arterial_step ON COMMIT DROP AS SELECT {names} FROM {target} "
                "WITH NO DATA".encode()
            )
            target = "arterial_step"
        with db.cursor() as cursor, cursor.copy(f"COPY {target} ({names}) FROM STDIN (FORMAT csv)".encode()) as copy:
            for some in tuples.iter_slices(_ROWS_AT_ONCE):
                copy.write(some.write_csv(include_header=False).encode())
        if self.key:
            db.execute(self.insert_statement(f"SELECT {names} FROM arterial_step").encode())

    def transaction(self, work: Callable[[Any], None], attempts: int = 1) -> None:
        """Connect, do the work, commit; if the connection is lost, again.

        The server may have committed the lost one: `_put_once` sees that in the table of steps.
        """
        try:
            import psycopg
        except ImportError:
            raise MachineError(
                f"output {self.output!r}: PostgreSQL needs the package psycopg: pip install 'arterial[postgres]'"
            ) from None
        for attempt in range(1, attempts + 1):
            try:
                with self._connect() as db:
                    work(db)
                return
            except psycopg.Error as fault:
                if not isinstance(fault, psycopg.OperationalError) or attempt == attempts:
                    raise RunError(
                        f"{self._where}: {self._without_password(str(fault).strip())}. Nothing is lost: fix it, then "
                        "start again with the same checkpoint"
                    ) from None
            time.sleep(random.uniform(0.5, 1.0) * 2**attempt / 4)

    @property
    def quoted_table(self) -> str:
        """The table as SQL writes it."""
        return _qualified(self.table)

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        given = {"connect_timeout": 10, "application_name": "arterial", **self.connection}
        if password := self._password():
            given["password"] = password
        return psycopg.connect(**given, client_encoding="UTF8", options="-c timezone=UTC -c datestyle=ISO")

    def _password(self) -> str:
        if self.password_env and self.password_env not in os.environ:
            raise RunError(f"{self._where}: the environment variable {self.password_env} (password_env) is not set")
        return self._given_password or os.environ.get(self.password_env, "")

    def _without_password(self, text: str) -> str:
        for secret in (self._given_password, *map(os.environ.get, ("PGPASSWORD", self.password_env))):
            text = text.replace(secret, "***") if secret else text
        return text


def _qualified(table: str) -> str:
    return ".".join(map(quoted, table.split(".", 1)))
