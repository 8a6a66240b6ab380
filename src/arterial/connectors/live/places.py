"""Where live input comes from: standard input, a named pipe, a TCP connection, or a TCP port that is listened on.

The text that a user writes becomes a `Place` and options; `opened` opens a place from which one sender is read.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_plus

from arterial.errors import DataError, RunError

STANDARD_INPUT, PIPE, CONNECT, LISTEN = "standard input", "pipe", "connect", "listen"
LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 10.0
LOOK_SECONDS = 0.02
PIECE_BYTES = 4 << 20
EXPECTED = "- or stdin:, tcp://HOST:PORT to connect, tcp+listen://HOST:PORT to listen"

_SCHEMES = {"tcp": CONNECT, "tcp+listen": LISTEN}


@dataclass(frozen=True)
class Place:
    """A place that lines come from; `text` is how messages name it."""

    text: str
    kind: str
    host: str = ""
    port: int = 0


def parse_place(text: str) -> tuple[Place, dict[str, str]]:
    """The place that a text names, and the options behind it.

    >>> parse_place("tcp+listen://:5000?idle=5 s")
    (Place(text='tcp+listen://127.0.0.1:5000', kind='listen', host='127.0.0.1', port=5000), {'idle': '5 s'})
    """
    bare, _, tail = text.partition("?")
    options = {}
    for option in filter(None, tail.split("&")):
        name, _, value = option.partition("=")
        options[name] = unquote_plus(value)
    scheme, _, rest = bare.partition(":")
    if bare == "-" or (scheme == "stdin" and rest in ("", "//")):
        return Place("standard input", STANDARD_INPUT), options
    kind = LISTEN if "listen" in options and scheme == "tcp" else _SCHEMES.get(scheme)
    options.pop("listen", None)
    host, colon, port = rest.removeprefix("//").rstrip("/").rpartition(":")
    host = host.strip("[]") or (LOOPBACK if kind == LISTEN else "")
    if kind is None or not colon or not host or not port.isdigit() or int(port) > 65535:
        raise DataError(f"{text}: expected {EXPECTED}, such as tcp://127.0.0.1:5000")
    shown = f"[{host}]" if ":" in host else host
    return Place(f"{'tcp+listen' if kind == LISTEN else scheme}://{shown}:{port}", kind, host, int(port)), options


def is_pipe(path: Path) -> bool:
    """Whether a named pipe is there."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def connect(place: Place) -> socket.socket:
    """Connect as a client; raises `OSError`."""
    connection = socket.create_connection((place.host, place.port), CONNECT_SECONDS)
    connection.settimeout(None)
    return connection


def listen(place: Place) -> socket.socket:
    """Listen on a port, without waiting for anyone."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        server = socket.create_server((place.host, place.port), family=family, backlog=128)
    except (OSError, OverflowError) as fault:
        raise RunError(
            f"{place.text}: cannot listen there: {getattr(fault, 'strerror', None) or fault}; is another process using "
            "the port?"
        ) from None
    server.setblocking(False)
    return server


@contextmanager
def opened(place: Place, is_stopped: Callable[[], bool], hint: str = "") -> Iterator[int]:
    """The file descriptor of a place from which one sender is read; `hint` ends the message if no one is there."""
    if place.kind == CONNECT:
        try:
            connection = connect(place)
        except OSError as fault:
            raise RunError(f"{place.text}: no connection: {fault.strerror or fault}.{hint}") from None
        with connection:
            yield connection.fileno()
    elif place.kind == PIPE:
        yield from _opened_pipe(Path(place.text), is_stopped)
    else:
        yield 0


def read_piece(stream: int, ready: select.poll) -> tuple[bytes, bool]:
    """What has come, all of it up to a limit; and whether that was the end. Raises `OSError`."""
    pieces: list[bytes] = []
    size = 0
    while size < PIECE_BYTES and (not pieces or ready.poll(0)):
        piece = os.read(stream, PIECE_BYTES - size)
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), False


def polled(stream: int) -> select.poll:
    """What says whether something has come; of a file on disk it always says yes."""
    ready = select.poll()
    ready.register(stream, select.POLLIN)
    return ready


def _opened_pipe(path: Path, is_stopped: Callable[[], bool]) -> Iterator[int]:
    try:
        # Opened without waiting, so that a stopped run does not wait for a writer that never comes.
        stream = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror}") from None
    try:
        # Before its first writer a pipe reads as if it were at its end, but it has nothing to say.
        arrived = polled(stream)
        while not is_stopped() and not arrived.poll(1000 * LOOK_SECONDS):
            pass
        yield stream
    finally:
        os.close(stream)
