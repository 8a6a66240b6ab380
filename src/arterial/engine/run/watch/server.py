"""A small HTTP server for the metrics of a run: `/metrics`, `/health` and `/ready`, read only.

It is bounded in every way that a client could abuse: so many clients at once, so long a request, so many seconds for
all of it. The run never waits for it: it hands over its figures, and threads of the server make texts of them.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
import socketserver
import time
from contextlib import suppress
from threading import BoundedSemaphore, Lock, Thread
from typing import Protocol

from arterial.engine.run.watch.watchers import Watcher
from arterial.errors import RunError

LOOPBACK = "127.0.0.1"
MOST_CLIENTS = 16
MOST_REQUEST_BYTES = 8192
FRESH_SECONDS = 0.25
"""A text is made at most so often, however many clients ask for it."""
PATIENCE = 5.0
"""Seconds for a client to send its request and take the reply."""

_log = logging.getLogger("arterial")
_TEXT = "text/plain; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class _Served(Protocol):
    """What is served."""

    def text(self) -> str:
        """The metrics."""

    def health(self) -> tuple[bool, str]:
        """Whether the run is alive, and its state."""

    def ready(self) -> tuple[bool, str]:
        """Whether it takes tuples now, and its state."""


def parse_address(text: str) -> tuple[str, int]:
    """PORT or HOST:PORT; without a host it is loopback.

    >>> parse_address("9100"), parse_address("0.0.0.0:9100"), parse_address("[::1]:9100")
    (('127.0.0.1', 9100), ('0.0.0.0', 9100), ('::1', 9100))
    """
    found = re.fullmatch(r"(?:(?P<host>\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):)?(?P<port>[0-9]{1,5})", text.strip())
    if found is None or int(found["port"]) > 65535:
        raise RunError(f"metrics at {text!r}: expected PORT or HOST:PORT, as in 9100 or 0.0.0.0:9100")
    return (found["host"] or LOOPBACK).strip("[]"), int(found["port"])


class MetricsServer(Watcher):
    """Serves until it is closed. Port 0 lets the system choose; `url` says what it became."""

    def __init__(self, address: str, served: _Served) -> None:
        host, port = parse_address(address)
        try:
            self._server = _server(host, port, served)
        except (OSError, OverflowError) as fault:
            why = getattr(fault, "strerror", None) or str(fault)
            raise RunError(
                f"metrics at {address!r}: cannot listen there: {why}. Give another port (--metrics PORT), or 0 to let "
                "the system choose."
            ) from None
        port = self._server.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="arterial-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = MOST_CLIENTS

    def __init__(self, address: tuple[str, int], served: _Served) -> None:
        self.served = served
        self._places = BoundedSemaphore(MOST_CLIENTS)
        self._lock, self._text, self._made = Lock(), "", float("-inf")
        super().__init__(address, _Handler)

    def text(self) -> str:
        """The metrics, as of now or a moment ago."""
        with self._lock:
            if time.monotonic() - self._made > FRESH_SECONDS:
                self._text, self._made = self.served.text(), time.monotonic()
            return self._text

    def process_request(self, request: object, client_address: object) -> None:
        """Answer in a thread of its own; who comes when all are taken is hung up on."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)  # type: ignore[arg-type]
            return
        try:
            super().process_request(request, client_address)  # type: ignore[arg-type]
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer one client."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that vanished, or was too slow, is no event."""


class _ServerOnV6(_Server):
    address_family = socket.AF_INET6


def _server(host: str, port: int, served: _Served) -> _Server:
    try:
        is_v6 = ipaddress.ip_address(host).version == 6
    except ValueError:
        is_v6 = False  # a name
    return (_ServerOnV6 if is_v6 else _Server)((host, port), served)


class _Handler(socketserver.BaseRequestHandler):
    """One request, one reply, and the connection is closed."""

    def handle(self) -> None:
        """Read the request line, answer it."""
        until = time.monotonic() + PATIENCE
        with suppress(OSError):
            request = self._read(until)
            if request is not None:
                self._send(*_answered(request, self.server), until)  # type: ignore[arg-type]
                self.request.shutdown(socket.SHUT_WR)

    def _read(self, until: float) -> bytes | None:
        """The request up to its empty line; None if there was none in time, or too much."""
        read = b""
        while b"\r\n\r\n" not in read:
            if len(read) > MOST_REQUEST_BYTES:
                self._send(400, _TEXT, "the request is too long\n", until)
                return None
            self.request.settimeout(max(0.01, until - time.monotonic()))
            more = self.request.recv(4096)
            if not more or time.monotonic() > until:
                return None
            read += more
        return read

    def _send(self, code: int, kind: str, text: str, until: float) -> None:
        body = text.encode()
        head = (
            f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        )
        self.request.settimeout(max(0.01, until - time.monotonic()))
        self.request.sendall(head.encode() + body)


def _answered(request: bytes, server: _Server) -> tuple[int, str, str]:
    try:
        return _answer(request, server)
    except Exception as fault:  # who watches the run must see that the figures are missing, and why
        _log.warning("metrics cannot be made, and the run goes on: %s: %s", type(fault).__name__, fault)
        return 500, _TEXT, "the figures cannot be read; the log of the run says why\n"


def _answer(request: bytes, server: _Server) -> tuple[int, str, str]:
    words = request.split(b"\r\n", 1)[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return 400, _TEXT, "expected a request of HTTP 1\n"
    if words[0] != b"GET":
        return 405, _TEXT, "expected GET\n"
    path = words[1].partition(b"?")[0]
    if path == b"/metrics":
        return 200, _METRICS, server.text()
    if path in (b"/health", b"/ready"):
        good, state = server.served.health() if path == b"/health" else server.served.ready()
        return 200 if good else 503, _TEXT, f"{state}\n"
    return 404, _TEXT, "here are /metrics, /health and /ready\n"
