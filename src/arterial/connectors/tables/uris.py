"""What a user writes for a loaded relation becomes a table: a path, the URI of a file or of a database, or a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import polars as pl

from arterial.connectors.frames import frame_from, is_frame
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.options import names_in, options, split_uri, sqlite_uri
from arterial.connectors.postgres import Postgres
from arterial.connectors.source import Source
from arterial.connectors.tables.database import PostgresTable, SqliteTable
from arterial.connectors.tables.file import FileTable
from arterial.connectors.tables.source import TableSource, first_instant
from arterial.errors import DataError, near
from arterial.network.box import Stream
from arterial.network.relation import DELETED, LOADED, loaded_columns
from arterial.network.train import END, Train
from arterial.storage.remote import SCHEMES

_OPTIONS = ("table", "key", "refresh")


def table_from(value: Any, name: str, stream: Stream) -> Source | None:
    """What a user means by a path, a URI or a frame behind a loaded relation; None for other sources.

    `places.csv?refresh=1 minute` looks again, and so does `sqlite:///city.db?table=places&refresh=1 minute`.
    """
    found = loaded_columns(stream.schema, stream.time)
    if found is None:
        return None
    columns, key = found
    if is_frame(value):
        kind = stream.schema[LOADED]
        at = pl.lit(first_instant(kind), pl.Int64).cast(kind.polars).alias(LOADED)
        rows = frame_from(value, columns, f"source {name!r}").with_columns(at, pl.lit(False).alias(DELETED))
        return MemorySource([Train(rows.select(stream.schema.names), END)])
    scheme, sign, _ = str(value).partition("://")
    if not sign or scheme.lower() in SCHEMES:
        path, _, query = str(value).partition("?")
        return _file(path, query, f"source {name!r}: {path}")
    if scheme.lower() not in TABLES:
        known = ", ".join(f"{one}://" for one in (*TABLES, *SCHEMES))
        raise DataError(
            f"source {name!r}: unknown scheme {scheme!r} for a relation; expected {known}, or a path"
            + near(scheme, TABLES)
        )
    return TABLES[scheme.lower()](str(value), name, key)


def _file_uri(uri: str, name: str, key: tuple[str, ...]) -> TableSource:
    split = split_uri(uri)
    if split.netloc not in ("", "localhost") or split.fragment:
        raise DataError(f"source {name!r}: expected file:///PATH, without a host and without #")
    return _file(unquote(split.path), split.query, f"source {name!r}: {split.path}")


def _file(path: str, query: str, where: str) -> TableSource:
    return FileTable(path, refresh=options(where, query, ("refresh",)).get("refresh"))


def _sqlite(uri: str, name: str, key: tuple[str, ...]) -> TableSource:
    path, given = sqlite_uri(uri, _OPTIONS)
    _check_key(given, name, key)
    return SqliteTable(path, given.get("table", ""), refresh=given.get("refresh"))


def _postgres(uri: str, name: str, key: tuple[str, ...]) -> TableSource:
    server, given = Postgres.from_uri(uri, _OPTIONS)
    _check_key(given, name, key)
    return PostgresTable(server, given.get("table", ""), refresh=given.get("refresh"))


def _check_key(given: Mapping[str, str], name: str, key: tuple[str, ...]) -> None:
    """A key may be named as for a sink, but the network has the say."""
    if "key" in given and set(names_in(given["key"])) != set(key):
        raise DataError(
            f"source {name!r}: key={given['key']}: the relation is drawn with the key {', '.join(key) or '()'}; leave "
            "key= out, or draw it with that key"
        )


TABLES: Mapping[str, Callable[[str, str, tuple[str, ...]], TableSource]] = {
    "file": _file_uri,
    "sqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
}
"""What makes a table of a URI, the relation's name and its key, by scheme."""
