"""A source of lines that come by themselves: standard input, a TCP connection, or a TCP port that is listened on.

A thread of the driver spools what comes; steps are planned and read from the spool alone. The position is the number of
the last file that was looked at. Rows are read by their time, so those that wait for slower senders stay behind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from arterial.connectors.live.ending import MARKER
from arterial.connectors.live.lines import FORMATS, LineFormat
from arterial.connectors.live.places import LISTEN, STANDARD_INPUT, parse_place
from arterial.connectors.live.receiver import Receiver
from arterial.connectors.live.spool import (
    Reached,
    Spool,
    SpoolFile,
    account_of,
    look,
    note_reached,
    read_late,
    read_rows,
)
from arterial.connectors.live.spooler import STOPPED, Rules, Spooler
from arterial.connectors.rejects import set_aside
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.connectors.times import check_options, parse_times
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError, NetworkError, RunError, near
from arterial.network.duration import Duration, units
from arterial.network.keys.slots import pieces
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, Train
from arterial.storage.place import remove

FOREVER = "forever"
REJECTS = "rejects.jsonl"
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_reached: dict[str, Reached] = {}


@dataclass(frozen=True)
class LiveSource(Source):
    """Lines of CSV or JSON from `place`: `-`, `tcp://HOST:PORT` to connect, `tcp+listen://HOST:PORT` to listen.

    Its end is said, never guessed: by a line `#end` (`end` names another) from each of so many `senders`; by `until`, a
    time that everything has reached; by a `count` of lines; or, with `eof="end"`, by the end of the connection. If a
    sender goes away without that, it is waited for `wait` long; then the run stops, and can go on from there.

    `format` is csv or jsonl, if that shall not be recognised; `columns` are the names in CSV without a header.
    `time_unit` and `timezone` are as for files. A connection that is silent for `idle` does not hold up the others.
    At most about `spool` bytes lie on disk before the run; then senders have to wait. With `resend` a sender that
    comes back sends again from its first line, and what is known already is passed over.
    """

    place: str
    format: str | None = None
    columns: str | None = None
    time_unit: str | None = None
    timezone: str | None = None
    end: str = MARKER
    eof: str = "stop"
    until: str | int | None = None
    count: int | str | None = None
    senders: int | str = 1
    idle: Duration = 10
    wait: Duration = 30
    resend: bool | str = False
    spool: int | str = "1g"
    disorder: int = 0
    signed: bool = False
    name: str = ""
    schema: Schema | None = None
    time: str = ""
    folder: str = ""
    _receivers: list[Receiver] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_text(cls, text: str) -> LiveSource:
        """A place with options behind it.

        >>> LiveSource.from_text("tcp://127.0.0.1:5000?format=jsonl&idle=5 s").idle
        '5 s'
        """
        _, given = parse_place(text)
        for name in given:
            if name not in OPTIONS:
                raise DataError(
                    f"{text}: unknown option {name!r}; expected one of: {', '.join(OPTIONS)}{near(name, OPTIONS)}"
                )
        bare, _, tail = text.partition("?")
        listens = "?listen" if any(option.partition("=")[0] == "listen" for option in tail.split("&")) else ""
        options: dict[str, Any] = dict(given)
        return cls(bare + listens, **options)

    def allow(self, disorder: int, *, signed: bool) -> LiveSource:
        """Take lines that are out of order by so much."""
        return replace(self, disorder=disorder, signed=signed)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> LiveSource:
        """Check the options, and find what an earlier start of the run kept."""
        ready = replace(self, name=name, schema=schema, time=time, folder=str(folder / "sources" / name), _receivers=[])
        ready._rules()
        ready._form()
        _reached.pop(ready.folder, None)
        spool = Spool(ready._spool)
        remove(spool.folder / STOPPED)
        return ready

    def start(self) -> None:
        """Begin to listen or to connect."""
        assert self.schema is not None
        spool = Spool(self._spool)
        if spool.ended:
            return
        place, _ = parse_place(self.place)
        spooler = Spooler(
            spool,
            Path(self.folder) / REJECTS,
            self._form(),
            self.time,
            self._rules(),
            disorder=self.disorder,
            signed=self.signed,
            place=f"source {self.name!r}: {place.text}",
        )
        receiver = Receiver(place, spooler)
        self._receivers.append(receiver)
        receiver.start()

    def close(self, *, ended: bool) -> None:
        """Take no more; of an input that was read to its end nothing is kept but the account."""
        for receiver in self._receivers:
            receiver.stop()
        if ended:
            Spool(self._spool).clear()

    @property
    def port(self) -> int:
        """The port that is listened on, once it is started."""
        return self._receivers[0].port

    @property
    def notices(self) -> tuple[str, ...]:
        """What came so far, and what did not fit."""
        files = look(self._spool)
        if not files:
            return ()
        account, where = account_of(files[-1]), f"source {self.name!r}"
        said = [f"{where}: {text}" for text in account["notes"]]
        if account["rejected"]:
            lines = account["total"] + account["cut"]
            aside = set_aside(account["rejected"], Path(self.folder) / REJECTS, lines=lines)
            cut = f"; {account['cut']:,} of them had no end" if account["cut"] else ""
            said.append(f"{where}: {aside}{cut}")
        if account["late"]:
            said.append(f"{where}: {account['late']:,} tuple(s) are late or have no time: they leave by port 'late'")
        return tuple(said)

    def begin(self) -> Progress:
        """Before the first file."""
        return Progress({"file": -1}, BEGIN)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """What is complete; about as many rows as were asked for."""
        self._note(before)
        number = int(before.position["file"])
        # The reason is looked for first: it is left after the last file.
        stopped = self._stopped_message()
        files = look(self._spool)
        last = _last_file(files, number, ask.tuples)
        known = [file for file in files if last is not None and file.number <= last.number]
        through = before.through if last is None else max(before.through, last.through)
        if ask.until is not None:
            through = max(before.through, min(through, ask.until))
        through = _fitting(known, before.through, through, ask.tuples)
        has_late = any(file.late for file in known if file.number > number)
        if last is not None and (through > before.through or has_late):
            return Progress({"file": max(number, last.number)}, through)
        if stopped is not None and (not files or files[-1].through <= before.through):
            raise RunError(stopped)
        return before

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A piece of the rows, in the order of their time."""
        assert self.schema is not None
        if after.through <= before.through:
            return self.schema.empty()
        rows = read_rows(self._spool, self.time, before.through, after.through, after.position["file"])
        return self.schema.empty() if rows is None else pieces(self._frame(rows), part.count)[part.index]

    def read_trains(self, span: Span, part: Part) -> list[Train]:
        """One train, and the late rows with it."""
        first, last = span.before.position["file"], span.after.position["file"]
        late = read_late(self._spool, first, last) if part.index == 0 and first < last else None
        tuples = self.read(span.before, span.after, part)
        return [Train(tuples, span.after.through, None if late is None else self._frame(late))]

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many rows are spooled and not read."""
        reached = Reached(progress.position["file"], progress.through)
        return sum(file.rows for file in look(self._spool) if reached.needs(file))

    @property
    def _spool(self) -> Path:
        return Path(self.folder) / "spool"

    def _frame(self, rows: pa.Table) -> pl.DataFrame:
        assert self.schema is not None
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)
        return frame.cast(pl.Schema(self.schema.polars()))

    def _stopped_message(self) -> str | None:
        path = self._spool / STOPPED
        return str(json.loads(path.read_text())["message"]) if path.exists() else None

    def _note(self, before: Progress) -> None:
        """Leave word of what is read for good, a step behind: that step may be run again."""
        reached = Reached(int(before.position["file"]), before.through)
        earlier = _reached.get(self.folder)
        if earlier is None:
            _reached[self.folder] = reached
        elif earlier == reached and self.folder not in _noted:
            note_reached(self._spool, "run", reached)
            _noted.add(self.folder)
        elif earlier != reached:
            note_reached(self._spool, "run", earlier)
            _reached[self.folder] = reached
            _noted.discard(self.folder)

    def _form(self) -> LineFormat:
        assert self.schema is not None
        where = f"source {self.name!r}"
        check_options(self.time_unit, self.timezone, where)
        if self.format not in (None, *FORMATS):
            raise DataError(f"{where}: the format is {self.format!r}; expected csv or jsonl")
        return LineFormat(self.schema, self.format, self.columns, TimeOptions(self.time_unit, self.timezone))

    def _rules(self) -> Rules:
        place, _ = parse_place(self.place)
        where = f"source {self.name!r}"
        if self.eof not in ("stop", "end"):
            raise DataError(f"{where}: eof is {self.eof!r}; expected stop or end")
        if not self.end or "\n" in self.end:
            raise DataError(f"{where}: end is {self.end!r}; expected the text of a line")
        senders = _number(self.senders, "senders", where)
        if senders > 1 and place.kind != LISTEN:
            raise DataError(f"{where}: {senders} senders need a port to come to: tcp+listen://HOST:PORT")
        return Rules(
            end=self.end,
            eof_ends=self.eof == "end",
            until=None if self.until is None else self._until(self.until),
            count=None if self.count is None else _number(self.count, "count", where),
            senders=senders,
            idle=_seconds(self.idle, "idle", where),
            wait=0.0 if place.kind == STANDARD_INPUT else _seconds(self.wait, "wait", where),
            resend=self.resend not in (False, "0", "false", "no"),
            size=_bytes(self.spool, where),
        )

    def _until(self, until: str | int) -> int:
        assert self.schema is not None
        if self.schema[self.time] is Type.TIMESTAMP:
            times = parse_times(pl.Series([str(until)]), unit=self.time_unit, timezone=self.timezone)
            if times.null_count() == 0:
                return int(times.to_physical()[0])
        elif isinstance(until, int) or str(until).strip().lstrip("-").isdigit():
            return int(until)
        raise DataError(f"source {self.name!r}: until is {until!r}; expected a time as in the column {self.time!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_receivers": []}


OPTIONS = tuple(
    one.name
    for one in fields(LiveSource)
    if one.name not in ("place", "disorder", "signed", "name", "schema", "time", "folder", "_receivers")
)
"""What may stand behind a place: `tcp://127.0.0.1:5000?format=jsonl&idle=5 s`."""

_noted: set[str] = set()


def _last_file(files: Sequence[SpoolFile], number: int, tuples: int) -> SpoolFile | None:
    """The file up to which a step goes: with what is new, about so many rows; None if there are no files."""
    last = None
    for file in files:
        if last is not None and file.number > number:
            tuples -= file.rows
            if tuples < 0 and last.number > number:
                break
        last = file
    return last


def _fitting(files: Sequence[SpoolFile], after: int, through: int, tuples: int) -> int:
    """How far to go for about so many rows, as if the times in a file were spread evenly; at least an instant."""
    waiting = [file for file in files if file.rows and file.high > after and file.low <= through]
    if not waiting:
        return through

    def rows(to: int) -> float:
        return sum(
            file.rows * (min(to, file.high) - max(after, file.low - 1)) / (file.high - max(after, file.low - 1))
            if file.high > max(after, file.low - 1) and min(to, file.high) > max(after, file.low - 1)
            else 0
            for file in waiting
        )

    last = min(through, max(file.high for file in waiting))
    if rows(last) <= tuples:
        return through
    first = min(max(file.low, after + 1) for file in waiting)
    low, high = first, last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if rows(middle) <= tuples else (low, middle - 1)
    return low


def _seconds(duration: Duration, what: str, where: str) -> float:
    if duration == FOREVER:
        return float("inf")
    try:
        plain: Duration = float(duration)
    except ValueError:
        plain = duration
    try:
        return units(plain, Type.TIMESTAMP, what, least=0) / 1_000_000
    except NetworkError as fault:
        raise DataError(f"{where}: {fault}") from None


def _number(value: int | str, what: str, where: str) -> int:
    if str(value).isdigit() and int(value) > 0:
        return int(value)
    raise DataError(f"{where}: {what} is {value!r}; expected a number above 0")


def _bytes(value: int | str, where: str) -> int:
    text = str(value).strip().lower().removesuffix("b").removesuffix("i")
    unit = text[-1:] if text[-1:].isalpha() else ""
    number = text.removesuffix(unit).strip()
    if unit in _SIZES and number.isdigit() and int(number) > 0:
        return int(number) * _SIZES[unit]
    raise DataError(f"{where}: spool is {value!r}; expected a number of bytes such as 500m or 2g")
