"""The data driver (VLDB 2004, §3.3): delivers every tuple at its time, to any system, and records when it did.

A second t is delivered whole, t seconds after the start. A target is where the lines go: a folder with a file for each
second, a stream, a TCP port on which one client is awaited, or a topic of Kafka.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from arterial.connectors.live.ending import MARKER
from arterial.connectors.pace import Pace
from arterial.errors import ArterialError, DataError, RunError
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.event_files import writing
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.formats.line_writer import event_lines
from arterial.storage.place import put_in_place

# Reading ahead by whole chunks keeps the disk out of the way of the clock.
READ_SECONDS = 30
RECORD_HEADER = "second,due,delivered,events\n"
END_FILE = "END"


class Target(Protocol):
    """Where the driver delivers to."""

    def wait_until_ready(self) -> None:
        """Return when the receiver is there."""

    def deliver(self, second: int, lines: memoryview) -> None:
        """Hand over all lines of a second at once."""

    def close(self) -> None:
        """Say that nothing more will come."""


@dataclass(frozen=True)
class Driven:
    """What a drive did; times are of the wall clock."""

    started: float
    seconds: int
    events: int
    worst_delay: float


def drive(
    data: Data,
    target: Target,
    *,
    speed: float,
    begin: int,
    until: int,
    replication: Replication,
    record: IO[str] | None = None,
    start_on: Path | None = None,
    start_file: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Driven:
    """Deliver the seconds [begin, until) and record, for each, when it was due, when it was delivered, and its size.

    `start_file` says when second 0 was due, in seconds since 1970, before the first line is sent: the clock of Emit.
    """
    seconds = _seconds(data, begin, until, replication)
    first = next(seconds, None)  # read before the clock starts
    target.wait_until_ready()
    if start_on is not None:
        _wait_for(start_on)
    pace = Pace(begin, speed)
    started = pace.start()
    if start_file is not None:
        with writing(start_file):
            put_in_place(start_file, f"{pace.due(0):.6f}\n")
    if record:
        record.write(RECORD_HEADER)
    events, worst, count = 0, 0.0, 0
    while first is not None:
        second, size, lines = first
        pace.wait(second)
        due = pace.due(second)
        target.deliver(second, lines)
        delivered = time.time()
        worst = max(worst, delivered - due)
        events += size
        count += 1
        if record:
            record.write(f"{second},{due:.3f},{delivered:.3f},{size}\n")
        if progress:
            progress(count)
        first = next(seconds, None)
    target.close()
    return Driven(started, count, events, worst)


class FolderTarget:
    """A file a second, `second-000042.csv`, put in place whole; a file `END` after the last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and any(folder.iterdir()):
            raise DataError(f"{folder}: not empty; the driver writes into a new or empty folder")
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def wait_until_ready(self) -> None:
        """A folder is always ready."""

    def deliver(self, second: int, lines: memoryview) -> None:
        """Put the file in place: a reader never sees half of one."""
        path = self.folder / f"second-{second:06d}.csv"
        with writing(path):
            put_in_place(path, lines)

    def close(self) -> None:
        """Leave the mark that all is there."""
        with writing(self.folder):
            put_in_place(self.folder / END_FILE, b"")


class StreamTarget:
    """An open stream, such as standard output or a named pipe; a line `end` says that all was delivered."""

    def __init__(self, stream: BinaryIO, end: str | None = MARKER) -> None:
        self.stream, self.end = stream, end

    def wait_until_ready(self) -> None:
        """An open stream is ready."""

    def deliver(self, second: int, lines: memoryview) -> None:
        """Write and flush, so that the second is there when it is due."""
        try:
            self.stream.write(lines)
            self.stream.flush()
        except OSError as fault:
            raise RunError(f"the receiver went away in second {second}: {fault.strerror}") from fault

    def close(self) -> None:
        """Say that this is the end; the stream itself belongs to whoever opened it."""
        # A receiver that has all that it wants does not wait for it.
        with suppress(OSError):
            if self.end is not None:
                self.stream.write(f"{self.end}\n".encode())
            self.stream.flush()


class TcpTarget:
    """A TCP port; the first client to connect gets the lines, and its connecting is the start signal.

    A line `end` says that all was delivered: a connection that is closed may also be one that broke.
    """

    def __init__(self, host: str, port: int, announce: Callable[[str], None], end: str | None = MARKER) -> None:
        self.announce, self.end = announce, end
        try:
            self.server = socket.create_server((host, port), backlog=1)
        except (OSError, OverflowError) as fault:
            raise ArterialError(f"tcp://{host}:{port}: cannot listen there: {fault}") from fault
        self.client: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port that is listened on; it was chosen freely if 0 was asked for."""
        return int(self.server.getsockname()[1])

    def wait_until_ready(self) -> None:
        """Wait for the client."""
        host = self.server.getsockname()[0]
        self.announce(f"waiting for a client on tcp://{host}:{self.port}")
        self.client, _ = self.server.accept()

    def deliver(self, second: int, lines: memoryview) -> None:
        """Send; a client that does not keep up holds the driver up, and the record shows it."""
        assert self.client
        try:
            self.client.sendall(lines)
        except OSError as fault:
            raise RunError(f"the client went away in second {second}: {fault.strerror}") from fault

    def close(self) -> None:
        """Say that this is the end, and close the connection."""
        if self.end is not None and self.client:
            # A client that stopped at its own --until does not wait for it.
            with suppress(OSError):
                self.client.sendall(f"{self.end}\n".encode())
        for end in (self.client, self.server):
            if end:
                end.close()


def target_of(place: str, announce: Callable[[str], None], end: str | None = MARKER) -> Target:
    """The target that a user named: `-`, `tcp://HOST:PORT`, `kafka://HOST:PORT/TOPIC` or a folder.

    `end` is the last line, or message, of all but a folder.
    """
    if place == "-":
        return StreamTarget(sys.stdout.buffer, end)
    if place.startswith("kafka://"):
        from arterial.linearroad.drive.topic import TopicTarget

        return TopicTarget(place, announce, end)
    if place.startswith("tcp://"):
        host, _, port = place.removeprefix("tcp://").rpartition(":")
        if not host or not port.isdigit():
            raise ArterialError(f"--to {place}: expected tcp://HOST:PORT, such as tcp://127.0.0.1:5000")
        return TcpTarget(host, int(port), announce, end)
    if "://" in place:
        raise ArterialError(f"--to {place}: expected -, tcp://HOST:PORT, kafka://HOST:PORT/TOPIC or a folder")
    return FolderTarget(Path(place))


def _seconds(data: Data, begin: int, until: int, replication: Replication) -> Iterator[tuple[int, int, memoryview]]:
    for start in range(begin, until, READ_SECONDS):
        stop = min(start + READ_SECONDS, until)
        events = data.read(start, stop)
        times = events["time"].to_numpy()
        for second in range(start, stop):
            first, last = times.searchsorted([second, second + 1]).tolist()
            now = replication.events(events.slice(first, last - first))
            yield second, now.num_rows, memoryview(b"".join(event_lines(now)))


def _wait_for(signal: Path) -> None:
    while not signal.exists():
        time.sleep(0.01)
