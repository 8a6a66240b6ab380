"""Takes what connections send, judges every line, and spools it at once; decides what is complete, and what is the end.

Each connection has its own progress: a line is late if it is further behind the highest time of its connection than the
disorder allows. Complete is what lies before the progress of all connections; one that is idle does not count. What was
said to be complete stays so: a line that comes for it afterwards is late.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from arterial.boxes.parts.reorder import split_late
from arterial.connectors.live.ending import MARKER, Ending
from arterial.connectors.live.lines import LineFormat, LineReader
from arterial.connectors.live.spool import Reached, Spool, reached_by_all
from arterial.connectors.rejects import SEVERAL_FILES, Reject, Rejects
from arterial.errors import DataError
from arterial.network.train import BEGIN, END
from arterial.storage.appended import writing
from arterial.storage.place import put_in_place

FLUSH_SECONDS = 0.1
FLUSH_ROWS = 200_000
STOPPED = "stopped.json"
"""The file that says why a live input stopped before its end."""
GREETING = b"#from "
_LONGEST_NAME = 200
_COUNTS = ("total", "rejected", "cut", "late", "ended", "reject bytes")


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
class Connection:
    """One connection: how far it has come, and what is left of its last piece."""

    name: str
    ending: Ending
    heard: float
    reader: LineReader | None = None
    sender: str = ""
    highest: int = BEGIN
    is_sender: bool = False
    """Whether something that fits came from it; a stranger that says nothing useful is not waited for."""
    is_over: bool = False
    first: bytes = b""

    def progress(self, disorder: int) -> int:
        """Every line up to this time has come."""
        return BEGIN if self.highest == BEGIN else self.highest - disorder - 1


class Spooler:
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
        self.spool, self.form, self.time, self.disorder, self.rules = spool, form, time_column, disorder, rules
        self.place, self.signed = place, signed
        fresh: dict[str, Any] = {**dict.fromkeys(_COUNTS, 0), "lines": {}, "notes": []}
        self.account: dict[str, Any] = {**fresh, **spool.account}
        self.rejects = Rejects(rejects, SEVERAL_FILES, resume_at=self.account["reject bytes"] or None)
        self.open: list[Connection] = []
        self.lost: list[Connection] = []
        self.stopped: str | None = None
        self._now = now
        self._began = self._flushed = now()
        self._furthest = BEGIN
        self._rows: list[pl.DataFrame] = []
        self._late: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._is_changed = False
        self._appeared = int(self.account["ended"])

    @property
    def done(self) -> bool:
        """Whether no more is taken."""
        return self.spool.ended or self.stopped is not None

    def connect(self, name: str) -> Connection:
        """A connection was made."""
        connection = Connection(name, Ending(self.rules.end), self._now())
        self.open.append(connection)
        return connection

    def feed(self, connection: Connection, data: bytes) -> bytes:
        """Take what came; what to answer. A header that does not fit is a `DataError`."""
        connection.heard = self._now()
        data = connection.ending.feed(data)
        answer = b""
        if connection.reader is None and data:
            data, answer = self._greet(connection, data)
        if data and connection.reader is not None:
            self._take(connection, connection.reader, data)
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
        self._set_aside([Reject(line, str(fault), "", connection.name)])
        self._drop(connection)

    def wants(self, connection: Connection) -> bool:
        """Whether to read on; if not, the sender has to wait until there is room."""
        if self.done or connection.is_over:
            return False
        if self.spool.size <= self.rules.size:
            return True
        if not self._is_read:
            return False
        # The run has read all that is complete: it waits for the slowest connections, so those are read.
        slowest = min(one.progress(self.disorder) for one in self.open)
        return connection.progress(self.disorder) <= slowest

    @property
    def _is_read(self) -> bool:
        """Whether the run has read all that is complete."""
        reached = reached_by_all(self.spool.folder) or Reached(-1, BEGIN)
        return reached.through >= self.spool.through

    def tick(self) -> None:
        """Look at the clock: spool what came, see who is idle, and whether this is the end."""
        if self.done:
            return
        now = self._now()
        if now - self._flushed >= FLUSH_SECONDS or self._is_end():
            self._flushed = now
            self.flush()
            self.spool.trim()
        if self._is_end():
            self.end()
        elif late := [one for one in self.lost if now - one.heard >= self.rules.wait]:
            self.stop(self._lost_message(late[0]))
        elif self.spool.size > 2 * self.rules.size and self._is_read:
            held = f"{self.spool.size:,} bytes wait for a slow sender, or for the disorder to pass"
            self.stop(f"{self.place}: {held}, with spool={self.rules.size:,}. Give a larger spool=, or a shorter idle=")

    def flush(self) -> None:
        """Put what came into the spool."""
        through = self._through()
        if self._is_changed or through > self.spool.through:
            self._write(through)

    def end(self) -> None:
        """No more will come: release everything."""
        self._write(END)

    def stop(self, message: str) -> None:
        """Stop before the end; what came is kept, and the run can go on from there."""
        self.flush()
        path = self.spool.folder / STOPPED
        with writing(path):
            put_in_place(path, json.dumps({"message": message}))
        self.stopped = message

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
            self.account["notes"] = [*self.account["notes"], note][:10]
        if reader.fits and not connection.is_sender:
            self._appear(connection)
        self._count(connection, reader.lines - before)
        self._set_aside(block.rejects)
        self._arrive(connection, block.rows)

    def _appear(self, connection: Connection) -> None:
        connection.is_sender = True
        nameless = next((one for one in self.lost if not one.sender), None)
        if not connection.sender and nameless is not None:
            self.lost.remove(nameless)  # whoever it was, this one comes in its place
        else:
            self._appeared += 1

    def _arrive(self, connection: Connection, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        highest = connection.highest if connection.highest != BEGIN else BEGIN + self.disorder
        tuples, late = split_late(rows, self.time, highest, self.spool.through, self.disorder, self.signed)
        if tuples.height:
            top = tuples[self.time].to_physical().cast(pl.Int64).max()
            assert isinstance(top, int)
            connection.highest = max(connection.highest, top)
            self._furthest = max(self._furthest, connection.progress(self.disorder))
        if self.rules.until is not None and tuples.height:
            tuples = tuples.filter(tuples[self.time].to_physical().cast(pl.Int64) < self.rules.until)
        self._rows.append(tuples)
        self._late.append(late)
        self.account["late"] += late.height
        self._waiting_rows += rows.height
        self._is_changed = True

    def _through(self) -> int:
        """Through which time everything has come."""
        now, idle = self._now(), self.rules.idle
        awake = [one for one in (*self.open, *self.lost) if now - one.heard < idle]
        if self._appeared < self.rules.senders and now - self._began < idle:
            return self.spool.through
        through = min((one.progress(self.disorder) for one in awake), default=self._furthest)
        return max(self.spool.through, through)

    def _is_end(self) -> bool:
        rules = self.rules
        if rules.count is not None and self.account["total"] >= rules.count:
            return True
        if rules.until is not None and self._through() >= rules.until - 1:
            return True
        is_awaited = any(one.is_sender for one in self.open) or self.lost
        return self.account["ended"] >= rules.senders and not is_awaited

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
            self._set_aside(cut)

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

    def _set_aside(self, rejects: list[Reject]) -> None:
        if rejects:
            self.rejects.add(rejects)
            self.account["rejected"] += len(rejects)
            self.account["reject bytes"] = self.rejects.size
            self._is_changed = True

    def _write(self, through: int) -> None:
        rows = pl.concat(self._rows) if self._rows else self.form.schema.empty()
        late = pl.concat(self._late) if self._late else self.form.schema.empty()
        rows = rows.sort(self.time, maintain_order=True)
        times = rows[self.time].to_physical().cast(pl.Int64)
        low, high = (int(times[0]), int(times[-1])) if rows.height else (END, BEGIN)
        table: pa.Table = pl.concat([rows, late]).to_arrow(compat_level=pl.CompatLevel.oldest())
        self.spool.account = self.account
        self.spool.write(table, through, low=low, high=high, late=late.height)
        self._rows, self._late, self._waiting_rows, self._is_changed = [], [], 0, False

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
