"""What a user writes for an output becomes a sink: one function for each kind of URI. `uri` says which is called.

Options follow a question mark, as in `alerts.csv?grow`; those of a webhook follow #, which is never sent to a server.
A URI may hold a password, so no message repeats one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from arterial.connectors.options import names_in, options, port_of, split_uri, sqlite_uri
from arterial.connectors.postgres import Postgres
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files.growing import GrowingSink
from arterial.connectors.sinks.files.parts import FORMATS, FileSink
from arterial.connectors.sinks.print import PrintSink
from arterial.errors import RunError
from arterial.storage.remote import path_of

STANDARD_OUTPUT = "-"
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,8}")


def path_sink(text: str, parts: Path) -> Sink:
    """A file, a folder, or `-` for standard output."""
    path, _, query = text.partition("?")
    if path == STANDARD_OUTPUT:
        return PrintSink(**options(text, query, ("format",)))
    given = options(path, query, ("format", "grow", "compact", "keep"))
    suffix = path_of(path).suffix
    if "grow" in given:
        if len(given) > 1:
            raise RunError(f"{path}: a file that grows has no other options; its suffix is its format")
        return GrowingSink.at(path)
    if (form := suffix.removeprefix(".").lower()) in FORMATS:
        if given:
            raise RunError(f"{path}: one file is made at the end of the run; format, compact and keep are for folders")
        return FileSink(parts, form, merge=path_of(path))
    if _SUFFIX.fullmatch(suffix) and not path.endswith("/") and not path_of(path).is_dir():
        raise RunError(
            f"{path}: unknown suffix {suffix!r}; expected {', '.join(f'.{one}' for one in FORMATS)}, or for a folder "
            f"{path}/"
        )
    return FileSink(path, given.get("format", "parquet"), compact="compact" in given, keep=given.get("keep"))


def file_sink(uri: str, parts: Path) -> Sink:
    """`file:///PATH`, with the options of a path."""
    split = split_uri(uri)
    if split.netloc not in ("", "localhost") or split.fragment:
        raise RunError("a file is named by file:///PATH, without a host and without #")
    return path_sink(unquote(split.path) + (f"?{split.query}" if split.query else ""), parts)


def sqlite_sink(uri: str, parts: Path) -> Sink:
    """`sqlite:///PATH?table=NAME&key=COLUMN,COLUMN`; a path from the root has four slashes."""
    from arterial.connectors.sinks.databases.sqlite import SqliteSink

    path, given = sqlite_uri(uri, ("table", "key"))
    return SqliteSink(path, given.get("table", ""), names_in(given.get("key", "")))


def postgres_sink(uri: str, parts: Path) -> Sink:
    """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE?table=NAME&key=COLUMN,COLUMN`, and parameters of libpq."""
    from arterial.connectors.sinks.databases.postgres import PostgresSink

    server, given = Postgres.from_uri(uri, ("table", "key"))
    return PostgresSink(server, given.get("table", ""), names_in(given.get("key", "")))


def http_sink(uri: str, parts: Path) -> Sink:
    """`https://HOST/PATH?QUERY#OPTIONS`."""
    from arterial.connectors.sinks.webhook import WebhookSink

    address, _, fragment = uri.partition("#")
    split = split_uri(address)
    port_of(split)
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


def kafka_sink(uri: str, parts: Path) -> Sink:
    """`kafka://HOST:PORT/TOPIC?key=COLUMN,COLUMN`, and settings of the client."""
    from arterial.connectors.kafka.cluster import Cluster
    from arterial.connectors.kafka.sink import OPTIONS, KafkaSink

    cluster, given = Cluster.from_uri(uri, OPTIONS)
    return KafkaSink(cluster, names_in(given.pop("key", "")), **given)
