"""Live input: lines that come through a TCP connection, standard input or a named pipe, spooled by a thread of the run.

A stream cannot be asked to come again, so the run goes on from its spool after a crash; what had not been spooled is
the sender's to send again.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arterial.connectors.pace import Pace
from arterial.connectors.source import Source
from arterial.engine.run.run import Run
from arterial.errors import ArterialError, RunError
from arterial.linearroad.application.live.feed import LiveReportFeed, LiveRequestFeed
from arterial.linearroad.application.live.spool import Spool
from arterial.linearroad.application.live.spooler import Spooler
from arterial.linearroad.data.cleaning import Cleaner
from arterial.linearroad.data.event_files import reading
from arterial.linearroad.data.replicate import Replication

SPOOL = "spool"
SCHEME = "tcp://"
STANDARD_INPUT = "-"

MOST_AHEAD = 20_000_000
"""So many events may lie in the spool before the run; then the sender has to wait."""

PIECE_BYTES = 4 << 20
CHECK_SECONDS = 0.05
CONNECT_SECONDS = 10.0


def is_live(data: str | Path) -> bool:
    """Whether a user means a stream: `tcp://HOST:PORT`, `-`, or the path of a named pipe."""
    if isinstance(data, str) and (data == STANDARD_INPUT or data.startswith(SCHEME)):
        return True
    with reading(Path(data)):
        return Path(data).exists() and stat.S_ISFIFO(Path(data).stat().st_mode)


class SpooledInput(ABC):
    """Input that goes through a spool; subclasses say where it comes from."""

    def __init__(
        self, name: str, *, work: Path, rejects: Path, begin: int, until: int | None, times: int, disorder: int
    ) -> None:
        if times != 1:
            raise ArterialError(
                f"--replicate {times}: live input cannot be replicated, because its numbers are not known before it "
                "ends; let the sender do it (arterial linear-road drive --replicate)"
            )
        if until is not None and not 0 <= begin <= until:
            raise ArterialError(f"--from {begin} must lie between 0 and the end of the run at {until}")
        self.name, self.begin, self.until, self.disorder = name, begin, until, disorder
        self.replication = Replication(1, 1, 1, 1)
        self.rejects = rejects
        self.spool = Spool((work / SPOOL).absolute())
        self.error: ArterialError | None = None
        self.notes: list[str] = []
        if self.spool.until and not self.spool.ended:
            self.notes.append(
                f"the spool reached second {self.spool.until}: send again from there, or from any second before; "
                "what is known already is skipped"
            )
        self._stopped = threading.Event()
        self._pace: Pace | None = None
        self._thread: threading.Thread | None = None

    @property
    def events(self) -> int | None:
        """How many will come is not known."""
        return None

    def feeds(self, pace: Pace, warm_up: int) -> dict[str, Source]:
        """Two feeds that advance together."""
        self._pace = pace
        feed: dict[str, Any] = {"folder": self.spool.folder, "pace": pace, "until": self.until, "warm_up": warm_up}
        return {"reports": LiveReportFeed(**feed), "requests": LiveRequestFeed(**feed)}

    def start(self, run: Run, warm_up: int) -> None:
        """Take the input as soon as the run is warm: a sender may begin when it sees us, and then the time counts."""
        if self.spool.ended:
            return
        self._thread = threading.Thread(target=self._work, args=(run, warm_up), name="arterial-spooler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more; a sender sees that the connection is closed."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5 * CHECK_SECONDS)

    def close(self) -> None:
        """The run came to its end: what is spooled is of no more use."""
        self.stop()
        self.spool.clear()

    def figures(self) -> dict[str, Any]:
        """How far it came, and what cleaning found."""
        account = self.spool.account
        return {
            "until": self.spool.until,
            "expressways": len(account.xways),
            "rejected": dict(account.rejected.most_common()),
            "skipped": account.skipped,
        }

    def _work(self, run: Run, warm_up: int) -> None:
        try:
            while run.active and run.statistics.steps < warm_up:
                if self._stopped.wait(CHECK_SECONDS):
                    return
            self._receive()
        except ArterialError as fault:
            self.error = fault
        except Exception as fault:
            self.error = RunError(f"{self.name}: the input failed: {type(fault).__name__}: {fault}")

    def _spooler(self, state: bytes | None = None) -> Spooler:
        assert self._pace is not None
        cleaner = Cleaner(disorder=self.disorder, file=self.name)
        return Spooler(self.spool, self.rejects, self._pace, cleaner=cleaner, until=self.until, state=state)

    def _wait_for_room(self) -> None:
        """Let the run come nearer, if the spool is far ahead of it."""
        while self.spool.ahead > MOST_AHEAD and not self._stopped.wait(CHECK_SECONDS):
            pass

    @abstractmethod
    def _receive(self) -> None:
        """Spool everything that comes, until it ends or the run is stopped."""


class LineInput(SpooledInput):
    """Lines of a TCP connection, standard input or a named pipe."""

    def __init__(self, data: str | Path, **where: Any) -> None:
        self.place = _place_of(data)
        super().__init__(str(data), **where)

    def _receive(self) -> None:
        spooler = self._spooler()
        with self._opened() as stream:
            ready = select.poll()
            ready.register(stream, select.POLLIN)
            while not self._stopped.is_set() and not spooler.done:
                if ready.poll(CHECK_SECONDS * 1000):
                    piece, ended = self._read(stream, ready)
                    if piece:
                        spooler.feed(piece)
                    if ended:
                        spooler.finish()
                    self._wait_for_room()
                else:
                    spooler.check_silence()
                self.spool.trim()

    def _read(self, stream: int, ready: select.poll) -> tuple[bytes, bool]:
        """What has come, all of it up to a limit; and whether that was the end."""
        pieces: list[bytes] = []
        size = 0
        while size < PIECE_BYTES and (not pieces or ready.poll(0)):
            try:
                piece = os.read(stream, PIECE_BYTES - size)
            except OSError as fault:
                raise RunError(
                    f"{self.name}: the sender went away without closing the connection: {fault.strerror}. Start it "
                    f"again, from second {self.spool.until} or before, and repeat this command: it goes on from there"
                ) from fault
            if not piece:
                return b"".join(pieces), True
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces), False

    @contextmanager
    def _opened(self) -> Iterator[int]:
        if isinstance(self.place, Path):
            yield from self._opened_pipe(self.place)
        elif isinstance(self.place, tuple):
            try:
                connection = socket.create_connection(self.place, CONNECT_SECONDS)
            except OSError as fault:
                raise RunError(
                    f"{self.name}: no connection: {fault.strerror or fault}. Start the sender before the run, such as "
                    f"`arterial linear-road drive --data … --to {self.name}`"
                ) from fault
            with connection:
                connection.settimeout(None)
                yield connection.fileno()
        else:
            yield 0

    def _opened_pipe(self, path: Path) -> Iterator[int]:
        with reading(path):
            # Opened without waiting, so that a stopped run does not wait for a writer that never comes.
            stream = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            # Before its first writer a pipe reads as if it were at its end, but it has nothing to say.
            arrived = select.poll()
            arrived.register(stream, select.POLLIN)
            while not self._stopped.is_set() and not arrived.poll(1000 * CHECK_SECONDS):
                pass
            yield stream
        finally:
            os.close(stream)


def _place_of(data: str | Path) -> Path | tuple[str, int] | None:
    """Where to connect to, the pipe to open, or None for standard input."""
    if data == STANDARD_INPUT:
        return None
    if isinstance(data, Path) or not data.startswith(SCHEME):
        return Path(data)
    host, _, port = data.removeprefix(SCHEME).rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ArterialError(f"--data {data}: expected tcp://HOST:PORT, such as tcp://127.0.0.1:5000")
    return host.strip("[]"), int(port)
