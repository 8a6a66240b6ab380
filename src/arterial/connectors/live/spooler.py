"""Takes what connections send, judges every line, and spools it at once; decides what is complete, and what is the end.

Complete is what lies before the progress of all connections (`spooling`); one that is idle does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arterial.connectors.live.ending import MARKER, Ending
from arterial.connectors.live.lines import LineFormat, LineReader
from arterial.connectors.live.spool import Spool
from arterial.connectors.live.spooling import FLUSH_ROWS, Origin, Spooling
from arterial.connectors.rejects import SEVERAL_FILES, Reject, Rejects
from arterial.connectors.values import NOTHING_FITS_AFTER, nothing_fits
from arterial.errors import DataError

GREETING = b"#from "
_LONGEST_NAME = 200
_COUNTS = ("total", "fitting", "rejected", "refused", "cut", "late", "ended", "reject bytes")


@dataclass(frozen=True)
class Rules:
    """When a live input ends, and what it waits for; times in seconds."""

    end: str = MARKER
    eof_ends: bool = False
    until: int | None = None
    """The time before which to stop, in the unit of the time column."""
    count: int | None = None
    senders: int = 1
    idle: float = 10.0
    wait: float = 30.0
    resend: bool = False
    size: int = 1 << 30


@dataclass
class Connection(Origin):
    """One connection: how far it has come, and what is left of its last piece."""

    ending: Ending = field(default_factory=Ending)
    reader: LineReader | None = None
    sender: str = ""
    is_sender: bool = False
    """Whether something that fits came from it; a stranger that says nothing useful is not waited for."""
    is_over: bool = False
    first: bytes = b""


class Spooler(Spooling):
    """The driver's side of a live source; one thread calls it."""

    def __init__(
        self,
        spool: Spool,
        rejects: Path,
        form: LineFormat,
        time_column: str,
        rules: Rules,
        *,
        disorder: int = 0,
        signed: bool = False,
        place: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        account: dict[str, Any] = {**dict.fromkeys(_COUNTS, 0), "lines": {}, "notes": []}
        super().__init__(
            spool, form.schema, time_column, account, size=rules.size, until=rules.until, disorder=disorder,
            signed=signed, place=place, now=now,
        )  # fmt: skip
        if spool.account and "fitting" not in spool.account:
            del self.account["fitting"]  # kept by an older version, which did not count them: how many is not known
        self.form, self.rules = form, rules
        self.rejects = Rejects(rejects, SEVERAL_FILES, resume_at=self.account["reject bytes"] or None)
        self.open: list[Connection] = []
        self.lost: list[Connection] = []
        self._appeared = int(self.account["ended"])

    def connect(self, name: str) -> Connection:
        """A connection was made."""
        connection = Connection(name, self._now(), ending=Ending(self.rules.end))
        self.open.append(connection)
        return connection

    def feed(self, connection: Connection, data: bytes) -> bytes:
        """Take what came; what to answer. A header that does not fit is a `DataError`."""
        ends_line = b"\n" in data
        data = connection.ending.feed(data)
        answer = b""
        if connection.reader is None and data:
            data, answer = self._greet(connection, data)
        if data and connection.reader is not None:
            self._take(connection, connection.reader, data)
        if ends_line and connection.is_sender:
            connection.heard = self._now()  # bytes that never become a line hold up nobody
        if connection.ending.found and not connection.is_over:
            self._finish(connection)
            self._count_end(connection)
        if self._waiting_rows >= FLUSH_ROWS:
            self.flush()
        return answer

    def close(self, connection: Connection, why: str = "closed its connection") -> None:
        """A connection was closed, and its sender did not say that it is done."""
        if connection.is_over:
            return
        connection.first += connection.ending.rest
        self._finish(connection)
        if not connection.is_sender:
            self._drop(connection)
        elif self.rules.eof_ends:
            self._count_end(connection)
        else:
            self._drop(connection)
            connection.heard, connection.first = self._now(), why.encode()
            self.lost.append(connection)

    def refuse(self, connection: Connection, fault: DataError) -> None:
        """Set a connection's first line aside, and be done with it."""
        line = connection.reader.place.lines + 1 if connection.reader else 1
        self.set_aside([Reject(line, str(fault), "", connection.name)])
        self.account["refused"] += 1
        self._drop(connection)

    def say(self, text: str) -> None:
        """Leave a notice for the user; the same one comes once."""
        if text not in self.account["notes"]:
            self.account["notes"] = [*self.account["notes"], text][:10]
            self._is_changed = True

    def wants(self, connection: Connection) -> bool:
        """Whether to read on; if not, the sender has to wait until there is room."""
        if self.done or connection.is_over:
            return False
        if self.may_send(connection, (one for one in self.open if one is connection or self.is_awake(one))):
            return True
        if connection.is_sender:
            connection.heard = self._now()  # it is not silent: it has to wait
        return False

    def _greet(self, connection: Connection, data: bytes) -> tuple[bytes, bytes]:
        """Read the first line, by which a sender may say its name; it is answered with how many lines are known."""
        data, connection.first = connection.first + data, b""
        if len(data) < len(GREETING) and GREETING.startswith(data):
            connection.first = data
            return b"", b""
        answer, passed = b"", 0
        if data.startswith(GREETING):
            line, end, rest = data.partition(b"\n")
            if not end:
                if len(data) > _LONGEST_NAME:
                    raise DataError(f"{connection.name}: the name of the sender is longer than {_LONGEST_NAME} bytes")
                connection.first = data
                return b"", b""
            connection.sender = line[len(GREETING) :].decode("utf-8", errors="replace").strip()
            connection.name = f"{connection.sender} ({connection.name})"
            self._take_over(connection)
            answer = b"#have %d\n" % self.account["lines"].get(connection.sender, 0)
            data, passed = rest, 1
        known = self.account["lines"].get(connection.sender, 0) if self.rules.resend else 0
        if known and not connection.sender and self.rules.senders > 1:
            raise DataError(f"{connection.name}: with resend, each of several senders says its name first (#from NAME)")
        connection.reader = LineReader(connection.name, self.form, skip=known)
        connection.reader.place.lines = passed
        return data, answer

    def _take_over(self, connection: Connection) -> None:
        """A sender came back under its name: an old connection of it is over."""
        for old in [*self.open, *self.lost]:
            if old is not connection and old.sender == connection.sender:
                connection.highest = max(connection.highest, old.highest)
                if not old.is_over:
                    self._finish(old)
                self._drop(old)

    def _take(self, connection: Connection, reader: LineReader, data: bytes) -> None:
        most = None if self.rules.count is None else self.rules.count - self.account["total"]
        known_units = dict(reader.place.units)
        before = reader.lines
        block, _ = reader.feed(data, most)
        if reader.place.units != known_units and (note := reader.place.notice(connection.name, self.form.times)):
            self.say(note)
        if reader.fits and not connection.is_sender:
            self._appear(connection)
        self._count(connection, reader.lines - before)
        if "fitting" in self.account:
            self.account["fitting"] += block.rows.height
        self.set_aside(block.rejects)
        self.arrive(connection, block.rows)

    def _appear(self, connection: Connection) -> None:
        connection.is_sender = True
        nameless = next((one for one in self.lost if not one.sender), None)
        if not connection.sender and nameless is not None:
            self.lost.remove(nameless)  # whoever it was, this one comes in its place
        else:
            self._appeared += 1

    def _through(self) -> int:
        """Through which time everything has come."""
        awake = [one for one in (*self.open, *self.lost) if self.is_awake(one)]
        if self._appeared < self.rules.senders and self._now() - self._began < self.rules.idle:
            return self.spool.through
        return min((one.progress(self.disorder) for one in awake), default=self._furthest)

    def is_awake(self, connection: Connection) -> bool:
        """Whether it has not been silent for long; what it sends may still be waited for."""
        return self._now() - connection.heard < self.rules.idle

    def _is_end(self) -> bool:
        rules = self.rules
        if rules.count is not None and self.account["total"] >= rules.count:
            return True
        if rules.until is not None and self._through() >= rules.until - 1:
            return True
        is_awaited = any(one.is_sender for one in self.open) or self.lost
        return self.account["ended"] >= rules.senders and not is_awaited

    def end(self) -> None:
        """No more will come: release everything; if lines came and none fits, say so."""
        if self.account["total"] + self.account["cut"] and self._none_fits:
            self.stop(self._nothing_fits())
        else:
            super().end()

    def _trouble(self, now: float) -> str | None:
        gone = next((one for one in self.lost if now - one.heard >= self.rules.wait), None)
        tried = self.account["total"]
        if tried and self._none_fits and (gone is not None or tried >= NOTHING_FITS_AFTER):
            return self._nothing_fits()
        return None if gone is None else self._lost_message(gone)

    @property
    def _none_fits(self) -> bool:
        return self.account.get("fitting") == 0

    def _finish(self, connection: Connection) -> None:
        """Set aside what is left of a last line."""
        if connection.reader is None and connection.first:
            connection.reader = LineReader(connection.name, self.form)
        if connection.reader is None:
            return
        if connection.first:
            connection.reader.feed(connection.first)
            connection.first = b""
        if cut := connection.reader.finish():
            self.account["cut"] += len(cut)
            self.set_aside(cut)

    def _count_end(self, connection: Connection) -> None:
        if not connection.is_sender:
            self._appear(connection)
        self.account["ended"] += 1
        self._is_changed = True
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        connection.is_over = True
        for group in (self.open, self.lost):
            if connection in group:
                group.remove(connection)

    def _count(self, connection: Connection, lines: int) -> None:
        if lines:
            known = self.account["lines"]
            known[connection.sender] = known.get(connection.sender, 0) + lines
            self.account["total"] += lines
            self._is_changed = True

    def _nothing_fits(self) -> str:
        count = self.account["total"] + self.account["cut"]
        return nothing_fits(self.place, count, self.schema, self.rejects.examples) + " or what is sent"

    def _lost_message(self, lost: Connection) -> str:
        lines = lost.reader.lines if lost.reader else 0
        waited = f" and did not come back within {self.rules.wait:g} s" if self.rules.wait else ""
        return self.stop_message(f"{lost.name} {lost.first.decode()} after {lines:,} line(s){waited}")

    def stop_message(self, what: str) -> str:
        """What a user reads when an input stopped before its end."""
        return (
            f"{self.place}: {what}, without saying that it is done (a line {self.rules.end!r}). "
            f"{self.account['total']:,} line(s) are kept: let the sender go on and repeat this command, and a run with "
            "a checkpoint goes on from there. If this was the end, say so: --until TIME, or the option eof=end, "
            "count=N or until=TIME of the source"
        )
