"""A table of a PostgreSQL database as a sink."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from arterial.connectors.options import quoted
from arterial.connectors.postgres import Postgres, qualified
from arterial.connectors.sinks.databases.database import Column, DatabaseSink
from arterial.errors import ArterialError, RunError
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
        self,
        connection: Mapping[str, Any] | Postgres,
        table: str = "",
        key: Sequence[str] = (),
        password_env: str = "",
    ) -> None:
        super().__init__(table, key)
        self.server = connection if isinstance(connection, Postgres) else Postgres(connection, password_env)

    @property
    def place(self) -> str:
        """Server and database."""
        return self.server.place

    def columns(self, db: psycopg.Connection[Any]) -> dict[str, Column]:
        """The columns of the table."""
        rows = db.execute(
            b"SELECT attname, format_type(atttypid, NULL), attnotnull AND NOT atthasdef AND attidentity = '' "
            b"FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [qualified(self.table)],
        ).fetchall()
        return {name: Column(kind, required) for name, kind, required in rows}

    def unique(self, db: psycopg.Connection[Any]) -> list[set[str]]:
        """The columns of each primary key and unique index."""
        rows = db.execute(
            b"SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = "
            b"ANY(indkey) WHERE indrelid = to_regclass(%s) AND indisunique AND indpred IS NULL AND indexprs IS NULL "
            b"GROUP BY indexrelid",
            [qualified(self.table)],
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
        for attempt in range(1, attempts + 1):
            try:
                with self.server.connect(self._where) as db:
                    work(db)
                return
            except ArterialError:
                raise
            except Exception as fault:
                import psycopg

                if not isinstance(fault, psycopg.OperationalError) or attempt == attempts:
                    raise RunError(
                        f"{self._where}: {self.server.reason(fault)}. Nothing is lost: fix it, then "
                        "start again with the same checkpoint"
                    ) from None
            time.sleep(random.uniform(0.5, 1.0) * 2**attempt / 4)

    @property
    def quoted_table(self) -> str:
        """The table as SQL writes it."""
        return qualified(self.table)
