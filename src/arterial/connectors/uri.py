"""What a user names as a source or an output becomes a `Source` or a `Sink`; the one place that knows URI schemes.

A new system adds its scheme to `SOURCES` or `SINKS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from arterial.connectors.files.source import FileSource
from arterial.connectors.frames import frame_source, is_frame
from arterial.connectors.kafka.cluster import SECRETS as KAFKA_SECRETS
from arterial.connectors.kafka.cluster import in_uri
from arterial.connectors.kafka.source import KafkaSource
from arterial.connectors.live.source import LiveSource
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.uris import file_sink, http_sink, kafka_sink, path_sink, postgres_sink, sqlite_sink
from arterial.connectors.source import Source
from arterial.connectors.tables.uris import TABLES, table_from
from arterial.errors import RunError, near
from arterial.network.box import Stream
from arterial.storage.remote import SCHEMES, is_remote

PathLike = str | os.PathLike[str]

SOURCES: Mapping[str, Callable[[str], Source]] = {
    "file": lambda uri: _file_source(uri),
    "stdin": LiveSource.from_text,
    "tcp": LiveSource.from_text,
    "tcp+listen": LiveSource.from_text,
    "kafka": KafkaSource.from_text,
}
"""What makes a source of a URI, by its scheme."""

SINKS: Mapping[str, Callable[[str, Path], Sink]] = {
    "file": file_sink,
    "sqlite": sqlite_sink,
    "postgresql": postgres_sink,
    "postgres": postgres_sink,
    "http": http_sink,
    "https": http_sink,
    "kafka": kafka_sink,
}
"""What makes a sink of a URI and a folder for its parts, by its scheme."""


def source_from(value: Any, name: str, stream: Stream) -> Source:
    """The source that a user means by a value: a path, a URI, a frame, a list of tuples, or a `Source`."""
    if isinstance(value, Source):
        return value
    if (isinstance(value, str | os.PathLike) or is_frame(value)) and (table := table_from(value, name, stream)):
        return table
    if isinstance(value, str | os.PathLike):
        if (begin := os.fspath(value).partition("://"))[1] and begin[0].lower() in TABLES.keys() - SOURCES.keys():
            raise RunError(
                f"source {name!r}: a table of a database has no order and no time; draw it as a relation, "
                f"net.loaded_relation({name!r}, …), and read that"
            )
        scheme, text = _scheme(value, f"source {name!r}", SOURCES)
        return SOURCES[scheme](text) if scheme else FileSource.from_text(text)
    if is_frame(value):
        return frame_source(value, name, stream)
    raise RunError(
        f"source {name!r}: got a {type(value).__name__}; expected a path, a URI ({_known(SOURCES)}), a frame of "
        "Polars, pandas or Arrow, a list of tuples as dicts, or a Source"
    )


def sink_from(value: Any, name: str, parts: Path) -> Sink:
    """The sink that a user means by a value: a path, a URI or a `Sink`.

    A path that ends in .parquet, .csv or .jsonl is one file, made at the end of what is kept in the folder `parts`
    until then; a path without a suffix is a folder; `-` is standard output.
    """
    if isinstance(value, Sink):
        return value
    if isinstance(value, str | os.PathLike):
        scheme, text = _scheme(value, f"output {name!r}", SINKS)
        return SINKS[scheme](text, parts) if scheme else path_sink(text, parts)
    raise RunError(
        f"output {name!r}: got a {type(value).__name__}; expected the path of a .parquet, .csv or .jsonl file or of a "
        f"folder, '-' for standard output, a URI ({_known(SINKS)}), a Sink, or a function for Spark's frames"
    )


def absolute_place(place: str) -> str:
    """The same source or output as it is named from any folder: with absolute paths, also in options.

    >>> absolute_place("kafka://127.0.0.1:9092/reports?ssl_ca_location=/etc/ca.pem&idle=5 s")
    'kafka://127.0.0.1:9092/reports?ssl_ca_location=/etc/ca.pem&idle=5 s'
    """
    scheme, sign, _ = place.partition("://")
    if place == "-" or place.startswith(("-?", "stdin:")) or is_remote(place):
        return place
    if not sign:
        path, mark, query = place.partition("?")
        return f"{_absolute(path)}{mark}{query}"
    make = _ABSOLUTE.get(scheme.lower())
    return place if make is None else make(place)


def _scheme(value: PathLike, where: str, known: Mapping[str, object]) -> tuple[str, str]:
    """The scheme of a URI and its text; an empty scheme for a path."""
    text = os.fspath(value)
    if not text.partition("?")[0].strip():
        # An empty path would be the folder in which the command runs.
        raise RunError(f"{where}: its place is empty; expected a path, or a URI ({_known((*known, *SCHEMES))})")
    if "stdin" in known and (text == "-" or text.startswith(("-?", "stdin:"))):
        return "stdin", text
    scheme, sign, _ = text.partition("://")
    if not sign or scheme.lower() in SCHEMES:
        return "", text
    if scheme.lower() not in known:
        raise RunError(
            f"{where}: unknown scheme {scheme!r}; expected {_known((*known, *SCHEMES))}, or a path{near(scheme, known)}"
        )
    return scheme.lower(), text


def _known(schemes: Iterable[str]) -> str:
    return ", ".join(f"{scheme}://" for scheme in schemes)


def _path(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise RunError(f"{uri}: expected file:///PATH, without a host and without options")
    return Path(unquote(parts.path))


def _file_source(uri: str) -> FileSource:
    path, _, options = uri.partition("?")
    source = FileSource.from_text(f"data?{options}") if options else FileSource("")
    return replace(source, path=_path(path))


_KAFKA = frozenset(
    {
        "descriptor",
        *map(in_uri, ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location")),
        in_uri("sasl.kerberos.keytab"),
        *(f"{in_uri(secret)}_file" for secret in KAFKA_SECRETS),
    }
)
_LIBPQ = frozenset({"sslrootcert", "sslcert", "sslkey"})
_WORDS = frozenset({"", "probe", "system"})
"""What stands in the place of a path, and is none."""


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{Path.cwd()}/{path}"


def _sqlite(uri: str) -> str:
    begin, path = uri.partition("://")[0], uri.partition("://")[2]
    path, mark, query = path.partition("?")
    if path[:1] != "/" or path[1:2] in ("", "/"):
        return uri
    return f"{begin}:///{quote(_absolute(unquote(path[1:])))}{mark}{query}"


def _with_options(sign: str, names: frozenset[str]) -> Callable[[str], str]:
    def change(uri: str) -> str:
        begin, mark, query = uri.partition(sign)
        return begin + mark + "&".join(_option(text, names) for text in query.split("&"))

    return change


def _option(text: str, names: frozenset[str]) -> str:
    name, sign, value = text.partition("=")
    path = unquote_plus(value)
    if name.replace(".", "_") not in names or path in _WORDS or path.startswith("/"):
        return text
    return f"{name}{sign}{quote(_absolute(path))}"


_ABSOLUTE: Mapping[str, Callable[[str], str]] = {
    "sqlite": _sqlite,
    "kafka": _with_options("?", _KAFKA),
    "postgresql": _with_options("?", _LIBPQ),
    "postgres": _with_options("?", _LIBPQ),
    "http": _with_options("#", frozenset({"dead_letters"})),
    "https": _with_options("#", frozenset({"dead_letters"})),
}
