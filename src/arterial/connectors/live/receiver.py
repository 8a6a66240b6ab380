"""The thread of the driver that reads sockets and standard input, and gives what comes to the spooler."""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from arterial.connectors.live.places import CONNECT, LISTEN, LOOK_SECONDS, PIECE_BYTES, Place, connect, listen
from arterial.connectors.live.spooler import Connection, Spooler
from arterial.errors import ArterialError, DataError

MOST_CONNECTIONS = 1000
RESERVED_FILES = 64
"""So many files the process may still open when connections have taken the others: the run needs them."""
_RETRY_SECONDS = 0.5
_READ_BYTES = PIECE_BYTES // 4


@dataclass
class _Stream:
    """An open connection; standard input has no socket."""

    connection: Connection
    socket: socket.socket | None = None

    @property
    def number(self) -> int:
        return self.socket.fileno() if self.socket else 0

    def read(self) -> bytes:
        return os.read(0, _READ_BYTES) if self.socket is None else self.socket.recv(_READ_BYTES)

    def answer(self, text: bytes) -> None:
        if self.socket is not None and text:
            self.socket.sendall(text)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()


class Receiver:
    """Reads a place until its end, or until it is stopped; it connects again where a connection was lost."""

    def __init__(self, place: Place, spooler: Spooler) -> None:
        self.place, self.spooler = place, spooler
        self._stopped = threading.Event()
        self._streams: list[_Stream] = []
        self._server = listen(place) if place.kind == LISTEN else None
        self._next_try = 0.0
        self._most = MOST_CONNECTIONS
        self._is_open = False
        self._thread = threading.Thread(target=self._work, name="arterial-live", daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened on; it was chosen freely if 0 was given."""
        return int(self._server.getsockname()[1]) if self._server else self.place.port

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; what came is spooled, and senders see that their connections are closed."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(10.0)
        if self._server:
            self._server.close()

    def _work(self) -> None:
        try:
            self._began = self.spooler._now()
            while not self._stopped.is_set() and not self.spooler.done:
                self._open()
                self._read_once()
                self.spooler.tick()
            if not self.spooler.done:
                self.spooler.flush()
        except ArterialError as fault:
            self.spooler.fail(str(fault))
        except Exception as fault:
            self.spooler.fail(f"{self.place.text}: the input failed: {type(fault).__name__}: {fault}")
        finally:
            for stream in self._streams:
                stream.close()
            if self._server:
                self._server.close()

    def _open(self) -> None:
        """Open the place where that is needed, without waiting."""
        if self.place.kind == CONNECT:
            if not self._streams and self.spooler._now() >= self._next_try:
                self._connect()
        elif self._server is None and not self._is_open:
            self._is_open = True
            self._streams.append(_Stream(self.spooler.connect(self.place.text)))

    def _connect(self) -> None:
        now = self.spooler._now()
        try:
            connection = connect(self.place)
        except OSError as fault:
            if not self._is_open and now - self._began >= self.spooler.rules.wait:
                self.spooler.stop(
                    f"{self.place.text}: no connection: {fault.strerror or fault}. Start the sender and repeat this "
                    f"command; it is waited for {self.spooler.rules.wait:g} s (wait=…)"
                )
            self._next_try = now + _RETRY_SECONDS
            return
        self._is_open = True
        self._next_try = now + _RETRY_SECONDS
        self._streams.append(_Stream(self.spooler.connect(self.place.text), connection))

    def _read_once(self) -> None:
        """Take what has come on every connection that may send on."""
        ready = select.poll()
        by_number: dict[int, Callable[[], None]] = {}
        if self._server and (len(self._streams) < self._most or self._silent()):
            by_number[self._server.fileno()] = self._accept
        for stream in self._streams:
            if self.spooler.wants(stream.connection):
                by_number[stream.number] = lambda stream=stream: self._read(stream)  # type: ignore[misc]
        for number in by_number:
            ready.register(number, select.POLLIN)
        if not by_number:
            self._stopped.wait(LOOK_SECONDS)
        for number, _ in ready.poll(1000 * LOOK_SECONDS) if by_number else ():
            by_number[number]()
        for stream in [stream for stream in self._streams if stream.connection.is_over]:
            stream.close()
            self._streams.remove(stream)

    def _accept(self) -> None:
        assert self._server is not None
        if len(self._streams) >= self._most and (silent := self._silent()):
            self._lose(silent, "made room")
        try:
            accepted, (host, port, *_) = self._server.accept()
        except OSError as fault:
            if fault.errno in (errno.EMFILE, errno.ENFILE):
                self._take_no_more()
                self._stopped.wait(LOOK_SECONDS)
            return  # else it was gone before it was accepted
        accepted.setblocking(True)
        self._streams.append(_Stream(self.spooler.connect(f"{host}:{port}"), accepted))
        limit = _file_limit()
        # The system gives the lowest number that is free, so this is about how many files are open.
        if accepted.fileno() >= limit - min(RESERVED_FILES, limit // 2) or len(self._streams) >= MOST_CONNECTIONS:
            self._take_no_more()

    def _take_no_more(self) -> None:
        """Whoever comes now waits until there is room; that is said once."""
        self._most = max(1, len(self._streams))
        why = "more are not taken at once"
        if self._most < MOST_CONNECTIONS:
            why = f"this process may have {_file_limit():,} files open (ulimit -n); allow more to take more at once"
        self.spooler.say(f"{self._most:,} connections are open, so others have to wait: {why}")

    def _silent(self) -> _Stream | None:
        """A stranger that has sent nothing that fits for too long: it makes room where all places are taken."""
        strangers = (one for one in self._streams if not one.connection.is_sender)
        return next((one for one in strangers if not self.spooler.is_awake(one.connection)), None)

    def _read(self, stream: _Stream) -> None:
        connection = stream.connection
        try:
            data = stream.read()
        except OSError as fault:
            self._lose(stream, f"lost its connection ({fault.strerror or fault})")
            return
        if not data:
            self._lose(stream, "ended" if stream.socket is None else "closed its connection")
            return
        try:
            answer = self.spooler.feed(connection, data)
        except DataError as fault:
            if self._server is None:
                raise
            # Anyone may connect to a port: one who sends something else must not stop the run.
            self.spooler.refuse(connection, fault)
            return
        try:
            stream.answer(answer)
        except OSError as fault:
            self._lose(stream, f"lost its connection ({fault.strerror or fault})")

    def _lose(self, stream: _Stream, why: str) -> None:
        self.spooler.close(stream.connection, why)
        stream.close()
        if stream in self._streams:
            self._streams.remove(stream)
        if stream.socket is None and not self.spooler.done and not stream.connection.is_sender:
            if self.spooler.rules.eof_ends:
                self.spooler.end()
            else:
                self.spooler.stop(self.spooler.stop_message("ended after 0 line(s)"))


def _file_limit() -> int:
    """How many files this process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 62 if limit == resource.RLIM_INFINITY else limit
