"""What a user writes for an output becomes a sink: one function for each kind of URI. `uri` says which is called.

Options follow a question mark, as in `alerts.csv?grow`; those of a webhook follow #, which is never sent to a server.
A URI may hold a password, so no message repeats one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files import FORMATS, FileSink
from arterial.connectors.sinks.growing import GrowingSink
from arterial.connectors.sinks.print import PrintSink
from arterial.errors import RunError, near

STANDARD_OUTPUT = "-"
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,8}")
_CONNECTION = ("host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout")


def path_sink(text: str, parts: Path) -> Sink:
    """A file, a folder, or `-` for standard output."""
    path, _, query = text.partition("?")
    if path == STANDARD_OUTPUT:
        return PrintSink(**options(text, query, ("format",)))
    given = options(path, query, ("format", "grow", "compact"))
    suffix = Path(path).suffix
    if "grow" in given:
        if len(given) > 1:
            raise RunError(f"{path}: a file that grows has no other options; its suffix is its format")
        return GrowingSink.at(path)
    if (form := suffix.removeprefix(".").lower()) in FORMATS:
        if given:
            raise RunError(f"{path}: one file is made at the end of the run; format and compact are for folders")
        return FileSink(parts, form, merge=Path(path))
    if _SUFFIX.fullmatch(suffix) and not path.endswith("/") and not Path(path).is_dir():
        raise RunError(
            f"{path}: unknown suffix {suffix!r}; expected {', '.join(f'.{one}' for one in FORMATS)}, or for a folder "
            f"{path}/"
        )
    return FileSink(path, given.get("format", "parquet"), compact="compact" in given)


def file_sink(uri: str, parts: Path) -> Sink:
    """`file:///PATH`, with the options of a path."""
    split = _split(uri)
    if split.netloc not in ("", "localhost") or split.fragment:
        raise RunError("a file is named by file:///PATH, without a host and without #")
    return path_sink(unquote(split.path) + (f"?{split.query}" if split.query else ""), parts)


def sqlite_sink(uri: str, parts: Path) -> Sink:
    """`sqlite:///PATH?table=NAME&key=COLUMN,COLUMN`; a path from the root has four slashes."""
    from arterial.connectors.sinks.sqlite import SqliteSink

    split = _split(uri)
    if split.netloc or len(split.path) < 2:
        raise RunError("a SQLite file is named by sqlite:///PATH, or sqlite:////PATH for a path from the root")
    given = options(f"sqlite://{split.path}", split.query, ("table", "key"))
    return SqliteSink(unquote(split.path[1:]), given.get("table", ""), _names(given))


def postgres_sink(uri: str, parts: Path) -> Sink:
    """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE?table=NAME&key=COLUMN,COLUMN`, and parameters of libpq."""
    from arterial.connectors.sinks.postgres import PostgresSink

    split = _split(uri)
    if "@" in split.path + split.query + split.fragment:
        raise RunError("PostgreSQL: the URI cannot be read; in a user or password, write / as %2F, ? as %3F, # as %23")
    named = {"host": split.hostname, "port": _port(split), "user": split.username, "password": split.password}
    known = ("table", "key", "password_env", *_CONNECTION, "password")
    given = options(f"PostgreSQL at {split.hostname or 'localhost'}", split.query, known)
    connection: dict[str, Any] = {name: given.pop(name) for name in (*_CONNECTION, "password") if name in given}
    connection |= {name: unquote(str(value)) for name, value in named.items() if value}
    if len(split.path) > 1:
        connection["dbname"] = unquote(split.path[1:])
    return PostgresSink(connection, given.get("table", ""), _names(given), given.get("password_env", ""))


def http_sink(uri: str, parts: Path) -> Sink:
    """`https://HOST/PATH?QUERY#OPTIONS`."""
    from arterial.connectors.sinks.webhook import WebhookSink

    address, _, fragment = uri.partition("#")
    split = _split(address)
    _port(split)
    where = f"webhook at {split.hostname}"
    kinds: dict[str, Any] = {
        "shape": str, "rows": int, "timeout": float, "attempts": int, "dead_letters": str, "authorization_env": str
    }  # fmt: skip
    given: dict[str, Any] = {}
    for name, text in options(where, fragment, tuple(kinds)).items():
        try:
            given[name] = kinds[name](text)
        except ValueError:
            raise RunError(f"{where}: {name}={text}: expected a number") from None
    return WebhookSink(address, **given)


def options(where: str, query: str, known: tuple[str, ...]) -> dict[str, str]:
    """The options of a URI; one without a value is empty."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name in given:
        if name not in known:
            shown = "" if "@" in name else f" {name!r}"  # what follows a ? or # in a password
            raise RunError(f"{where}: unknown option{shown}; expected one of: {', '.join(known)}{near(name, known)}")
    return given


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:  # its text may have the password
        scheme = uri.partition(":")[0]
        raise RunError(f"{scheme}://…: the URI cannot be read; expected {scheme}://HOST:PORT/…") from None


def _port(split: SplitResult) -> int | None:
    try:
        return split.port
    except ValueError:
        raise RunError(f"{split.scheme}://{split.hostname}: the port is not a number from 0 to 65535") from None


def _names(given: dict[str, str]) -> list[str]:
    return [name for name in given.get("key", "").split(",") if name]
