"""A source of the messages of a topic of Kafka.

A thread of the driver reads all partitions and spools rows together with the offsets behind them; steps are planned and
read from the spool alone (`live.spooled`), so a step can be read again whatever became of the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import polars as pl

from arterial.connectors.kafka.cluster import Cluster
from arterial.connectors.kafka.messages import FORMATS, JSON, PROTOBUF, MessageReader
from arterial.connectors.kafka.partitions import NOW, PartitionSpooler, Rules
from arterial.connectors.kafka.protobuf import ProtobufLines
from arterial.connectors.kafka.receiver import EARLIEST, Receiver
from arterial.connectors.live.ending import MARKER
from arterial.connectors.live.spool import Spool
from arterial.connectors.live.spooled import REJECTS, SpooledSource, bytes_of, number_of, seconds_of
from arterial.connectors.source import Part, Progress
from arterial.connectors.times import check_options
from arterial.connectors.values import TimeOptions, instant_of
from arterial.errors import DataError
from arterial.network.duration import Duration
from arterial.network.keys.slots import of_slot
from arterial.network.schema import Schema, Type
from arterial.storage.remote import path_of

MILLISECOND = 1000
OPTIONS = (
    "format", "columns", "descriptor", "message", "time_unit", "timezone", "begin", "end", "until", "count", "idle",
    "wait", "spool", "group", "lost",
)  # fmt: skip
"""What may stand behind a topic, beside the settings of the client: `kafka://127.0.0.1:9092/reports?format=csv`."""


@dataclass(frozen=True)
class KafkaSource(SpooledSource):
    """The messages of a topic, in the order of their time column, whatever the order of the partitions.

    `format` is json, csv, arrow, or protobuf with a `descriptor` file and the name of the `message`; `columns` are the
    names in CSV. It begins with the `earliest` message, `now`, or with the first that was written at a time or later.
    It ends by a message `#end` in each partition (`end` names
    another), with `end=now` at what was there at the start, or by `until` or `count`. A partition of which nothing
    comes for `idle` does not hold up the others; brokers that do not answer are awaited for `wait`. `group` gets the
    offsets, for Kafka's tools. With `lost=skip` the run goes on where retention deleted what it had not read.
    """

    cluster: Cluster
    format: str = JSON
    columns: str | None = None
    descriptor: str = ""
    message: str = ""
    time_unit: str | None = None
    timezone: str | None = None
    begin_at: str = EARLIEST
    end: str = MARKER
    until: str | int | None = None
    count: int | str | None = None
    idle: Duration = 10
    wait: Duration = 300
    spool: int | str = "1g"
    group: str = ""
    lost: str = "stop"
    disorder: int = 0
    signed: bool = False
    name: str = ""
    schema: Schema | None = None
    time: str = ""
    folder: str = ""
    _receivers: list[Receiver] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_text(cls, text: str) -> KafkaSource:
        """A URI with options behind it.

        >>> KafkaSource.from_text("kafka://127.0.0.1:9092/reports?idle=5 s").idle
        '5 s'
        """
        cluster, given = Cluster.from_uri(text, OPTIONS)
        options: dict[str, Any] = {("begin_at" if name == "begin" else name): value for name, value in given.items()}
        return cls(cluster, **options)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> Self:
        """Check the options, ask for the topic, and find what an earlier start of the run kept."""
        ready = super().bind(name, schema, time, folder)
        if not Spool(ready._spool).ended:
            client = self.cluster.consumer(**{"group.id": ready._group})
            try:
                self.cluster.partitions(client)
            finally:
                client.close()
        return ready

    def start(self) -> None:
        """Begin to read."""
        spool = Spool(self._spool)
        if spool.ended:
            return
        spooler = PartitionSpooler(
            spool,
            path_of(self.folder) / REJECTS,
            self._reader(),
            self.time,
            self._rules(),
            topic=self.cluster.topic,
            disorder=self.disorder,
            signed=self.signed,
            place=f"source {self.name!r}: {self.cluster.place}",
        )
        receiver = Receiver(self.cluster, self._group, self._first(), spooler)
        self._receivers.append(receiver)
        receiver.start()

    def close(self, *, ended: bool) -> None:
        """Read no more; of a topic that was read to its end nothing is kept but the account."""
        for receiver in self._receivers:
            receiver.stop(ended=ended)
        if ended:
            Spool(self._spool).clear()

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """Each task takes the tuples of its slot out of the spool, which saves sending them to others."""
        return True

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The tuples of a slot, or a contiguous piece of all, in the order of their time."""
        if part.key is None:
            return super().read(before, after, part)
        rows = super().read(before, after, Part(0, 1))
        return of_slot(rows, part.key, part.count, part.index)

    def _noticed(self, account: Mapping[str, Any]) -> list[str]:
        said = []
        if account["rejected"]:
            kept = path_of(self.folder) / REJECTS
            said.append(f"{account['rejected']:,} of {account['total']:,} messages were set aside, see {kept}")
        if account["lost"]:
            said.append(f"up to {account['lost']:,} message(s) were deleted before they were read (lost=skip)")
        return said

    def _check(self) -> None:
        self._rules()
        self._reader()
        self._first()

    @property
    def _group(self) -> str:
        return self.group or f"arterial-{self.cluster.topic}"

    def _reader(self) -> MessageReader:
        assert self.schema is not None
        where = f"source {self.name!r}"
        check_options(self.time_unit, self.timezone, where)
        known = (*FORMATS, PROTOBUF)
        if self.format not in known:
            raise DataError(f"{where}: the format is {self.format!r}; expected one of {', '.join(known)}")
        if self.format != PROTOBUF and (self.descriptor or self.message):
            raise DataError(f"{where}: descriptor and message are for format=protobuf, and it is {self.format}")
        lines = None
        if self.format == PROTOBUF:
            lines = ProtobufLines(self.descriptor, self.message, self.schema, where)
        times = TimeOptions(self.time_unit, self.timezone)
        return MessageReader(self.schema, self.format, self.columns, times, protobuf=lines, where=where)

    def _first(self) -> str | int:
        """Where to begin: a word, or milliseconds since 1970."""
        if self.begin_at in (EARLIEST, NOW):
            return self.begin_at
        options = TimeOptions(timezone=self.timezone)
        try:
            return instant_of(self.begin_at, "", Type.TIMESTAMP, options, "begin") // MILLISECOND
        except DataError:
            raise DataError(
                f"source {self.name!r}: begin is {self.begin_at!r}; expected {EARLIEST}, {NOW}, or a time such as "
                "2026-03-01T12:00Z"
            ) from None

    def _rules(self) -> Rules:
        where = f"source {self.name!r}"
        if self.lost not in ("stop", "skip"):
            raise DataError(f"{where}: lost is {self.lost!r}; expected stop or skip")
        if not self.end:
            raise DataError(f"{where}: end is empty; expected the value of a message, or now")
        return Rules(
            end=self.end,
            until=None if self.until is None else self.until_instant,
            count=None if self.count is None else number_of(self.count, "count", where),
            idle=seconds_of(self.idle, "idle", where),
            wait=seconds_of(self.wait, "wait", where),
            size=bytes_of(self.spool, where),
            skips_lost=self.lost == "skip",
        )
