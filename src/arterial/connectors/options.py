"""The parts of a URI, and names as SQL writes them. A URI may hold a password, so no message repeats one."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from arterial.errors import RunError, near


def options(where: str, query: str, known: tuple[str, ...]) -> dict[str, str]:
    """The options of a URI; one without a value is empty."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name in given:
        if name not in known:
            shown = "" if "@" in name else f" {name!r}"  # what follows a ? or # in a password
            raise RunError(f"{where}: unknown option{shown}; expected one of: {', '.join(known)}{near(name, known)}")
    return given


def names_in(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name for name in text.split(",") if name)


def split_uri(uri: str) -> SplitResult:
    """The parts of a URI."""
    try:
        return urlsplit(uri)
    except ValueError:  # its text may have the password
        scheme = uri.partition(":")[0]
        raise RunError(f"{scheme}://…: the URI cannot be read; expected {scheme}://HOST:PORT/…") from None


def port_of(split: SplitResult) -> int | None:
    """The port of a URI, if it has one."""
    try:
        return split.port
    except ValueError:
        raise RunError(f"{split.scheme}://{split.hostname}: the port is not a number from 0 to 65535") from None


def sqlite_uri(uri: str, known: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """`sqlite:///PATH?OPTIONS` as path and options; a path from the root has four slashes."""
    split = split_uri(uri)
    if split.netloc or len(split.path) < 2:
        raise RunError("a SQLite file is named by sqlite:///PATH, or sqlite:////PATH for a path from the root")
    return unquote(split.path[1:]), options(f"sqlite://{split.path}", split.query, known)


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
