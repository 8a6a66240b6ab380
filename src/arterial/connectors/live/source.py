"""A source of lines that come by themselves: standard input, a TCP connection, or a TCP port that is listened on.

A thread of the driver spools what comes; steps are planned and read from the spool alone (`spooled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from arterial.connectors.live.ending import MARKER
from arterial.connectors.live.lines import FORMATS, LineFormat
from arterial.connectors.live.places import LISTEN, STANDARD_INPUT, parse_place
from arterial.connectors.live.receiver import Receiver
from arterial.connectors.live.spool import Spool
from arterial.connectors.live.spooled import REJECTS, SpooledSource, bytes_of, number_of, seconds_of
from arterial.connectors.live.spooler import Rules, Spooler
from arterial.connectors.rejects import set_aside
from arterial.connectors.times import check_options
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError, near
from arterial.network.duration import Duration
from arterial.network.schema import Schema
from arterial.storage.remote import path_of


@dataclass(frozen=True)
class LiveSource(SpooledSource):
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

    def start(self) -> None:
        """Begin to listen or to connect."""
        assert self.schema is not None
        spool = Spool(self._spool)
        if spool.ended:
            return
        place, _ = parse_place(self.place)
        spooler = Spooler(
            spool,
            path_of(self.folder) / REJECTS,
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

    def _noticed(self, account: Mapping[str, Any]) -> list[str]:
        said = [*account["notes"]]
        if account["rejected"]:
            lines = account["total"] + account["cut"] + account["refused"]
            aside = set_aside(account["rejected"], path_of(self.folder) / REJECTS, lines=lines)
            cut = f"; {account['cut']:,} of them had no end" if account["cut"] else ""
            said.append(f"{aside}{cut}")
        return said

    def _check(self) -> None:
        self._rules()
        self._form()

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
        senders = number_of(self.senders, "senders", where)
        if senders > 1 and place.kind != LISTEN:
            raise DataError(f"{where}: {senders} senders need a port to come to: tcp+listen://HOST:PORT")
        return Rules(
            end=self.end,
            eof_ends=self.eof == "end",
            until=None if self.until is None else self.until_instant,
            count=None if self.count is None else number_of(self.count, "count", where),
            senders=senders,
            idle=seconds_of(self.idle, "idle", where),
            wait=0.0 if place.kind == STANDARD_INPUT else seconds_of(self.wait, "wait", where),
            resend=self.resend not in (False, "0", "false", "no"),
            size=bytes_of(self.spool, where),
        )


OPTIONS = tuple(
    one.name
    for one in fields(LiveSource)
    if one.name not in ("place", "disorder", "signed", "name", "schema", "time", "folder", "_receivers")
)
"""What may stand behind a place: `tcp://127.0.0.1:5000?format=jsonl&idle=5 s`."""
