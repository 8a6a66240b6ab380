"""A connection to PostgreSQL by psycopg (the extra `postgres`), whoever uses it: a sink, or a table that is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from arterial.connectors.options import options, port_of, quoted, split_uri
from arterial.errors import MachineError, RunError

if TYPE_CHECKING:
    import psycopg

_CONNECTION = ("host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout")


class Postgres:
    """What libpq must know of a server (host, port, user, dbname, sslmode, …).

    The password may be among it; else it comes from the environment variable named by `password_env`, from PGPASSWORD
    or ~/.pgpass. It stays in this process and in memory: a copy for another process has none.
    """

    def __init__(self, connection: Mapping[str, Any], password_env: str = "") -> None:
        self.parameters = {name: value for name, value in connection.items() if name != "password"}
        self._password, self.password_env = str(connection.get("password", "")), password_env

    @classmethod
    def from_uri(cls, uri: str, known: tuple[str, ...]) -> tuple[Postgres, dict[str, str]]:
        """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS`; parameters of libpq are options too."""
        split = split_uri(uri)
        if "@" in split.path + split.query + split.fragment:
            raise RunError(
                "PostgreSQL: the URI cannot be read; in a user or password, write / as %2F, ? as %3F, # as %23"
            )
        named = {"host": split.hostname, "port": port_of(split), "user": split.username, "password": split.password}
        every = (*known, "password_env", *_CONNECTION, "password")
        given = options(f"PostgreSQL at {split.hostname or 'localhost'}", split.query, every)
        connection: dict[str, Any] = {name: given.pop(name) for name in (*_CONNECTION, "password") if name in given}
        connection |= {name: unquote(str(value)) for name, value in named.items() if value}
        if len(split.path) > 1:
            connection["dbname"] = unquote(split.path[1:])
        return cls(connection, given.pop("password_env", "")), given

    @property
    def place(self) -> str:
        """Server and database."""
        host, port = self.parameters.get("host", "localhost"), self.parameters.get("port", 5432)
        return f"PostgreSQL at {host}:{port}, database {self.parameters.get('dbname', '')!r}"

    def connect(self, where: str) -> psycopg.Connection[Any]:
        """A new connection with times in UTC; raises psycopg's errors. `where` begins the messages of our own."""
        try:
            import psycopg
        except ImportError:
            raise MachineError(
                f"{where}: PostgreSQL needs the package psycopg: pip install 'arterial[postgres]'"
            ) from None
        if self.password_env and self.password_env not in os.environ:
            raise RunError(f"{where}: the environment variable {self.password_env} (password_env) is not set")
        given = {"connect_timeout": 10, "application_name": "arterial", **self.parameters}
        if password := self._password or os.environ.get(self.password_env, ""):
            given["password"] = password
        return psycopg.connect(**given, client_encoding="UTF8", options="-c timezone=UTC -c datestyle=ISO")

    def reason(self, fault: Exception) -> str:
        """What psycopg says, without the password."""
        text = str(fault).strip()
        for secret in (self._password, *map(os.environ.get, ("PGPASSWORD", self.password_env))):
            text = text.replace(secret, "***") if secret else text
        return text

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_password": ""}


def qualified(table: str) -> str:
    """TABLE or SCHEMA.TABLE as SQL writes it."""
    return ".".join(map(quoted, table.split(".", 1)))
