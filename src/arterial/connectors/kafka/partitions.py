"""Puts the messages of a topic into the spool, and keeps for each partition how far it has come.

The account that goes with each file of the spool has the offset of the next message of each partition. So rows and
offsets are kept together: after a kill the topic is read on from exactly there. Complete is what lies before the
progress of all partitions. One whose end was reached `idle` ago does not count, as long as its broker can be asked: a
partition that has not been read yet is not idle, however long it takes.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from arterial.connectors.kafka.messages import COLUMNS, MessageReader, MessageReject, Value, shown
from arterial.connectors.live.ending import MARKER
from arterial.connectors.live.spool import Spool, SpoolFile, reached_by_all
from arterial.connectors.live.spooling import FLUSH_ROWS, Origin, Spooling
from arterial.connectors.rejects import Rejects
from arterial.network.train import BEGIN

NOW = "now"
FIRST_TRIED = 100
"""If none of so many first messages fits, the run stops: the format is another."""
_COUNTS = ("total", "rejected", "late", "fitting", "reject bytes", "lost")
_NEVER = float("inf")
THROUGH = b"#through "
"""A message that begins so, and goes on with a time in units of the time column, says that its partition is complete up
to then. A sender that gives one to every partition need not wait for those that are idle."""
_MARK = re.compile(rb"#through -?\d{1,18}")


@dataclass(frozen=True)
class Rules:
    """When a topic ends, and what is waited for; times in seconds."""

    end: str = MARKER
    """The value of the message that ends a partition; or NOW, for what was there at the start."""
    until: int | None = None
    count: int | None = None
    idle: float = 10.0
    wait: float = 300.0
    size: int = 1 << 30
    skips_lost: bool = False


@dataclass
class Partition(Origin):
    """A partition: the offset of the next message, and since when it is at its end."""

    number: int = 0
    next: int = 0
    last: int | None = None
    """The offset before which to end."""
    at_end: float = _NEVER
    is_over: bool = False
    is_away: bool = False
    """Its broker did not answer, and it was not read since."""
    promised: int = BEGIN
    """Its sender said that everything up to this time is there."""

    def progress(self, disorder: int) -> int:
        """Every row up to this time has come."""
        return max(self.promised, super().progress(disorder))


class PartitionSpooler(Spooling):
    """The driver's side of a topic; one thread calls it."""

    slack: ClassVar[int] = 256 << 20

    def __init__(
        self,
        spool: Spool,
        rejects: Path,
        reader: MessageReader,
        time_column: str,
        rules: Rules,
        *,
        topic: str,
        disorder: int = 0,
        signed: bool = False,
        place: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        maps: dict[str, Any] = {name: {} for name in ("offsets", "highest", "promised", "ends", "units")}
        account = {**dict.fromkeys(_COUNTS, 0), **maps, "ended": [], "notes": [], "topic": ""}
        super().__init__(
            spool, reader.schema, time_column, account, size=rules.size, until=rules.until, disorder=disorder,
            signed=signed, place=place, now=now,
        )  # fmt: skip
        self.rules, self.reader, self.topic = rules, reader, topic
        reader.units.update(self.account["units"])
        self.rejects = Rejects(rejects, COLUMNS, resume_at=self.account["reject bytes"] or None)
        self.partitions: dict[int, Partition] = {}
        self.down_since: float | None = None
        """Since when no broker answers."""
        self._end = rules.end.encode()
        self._unread: deque[tuple[SpoolFile, dict[str, int]]] = deque()

    def add(self, number: int, first: int, last: int | None) -> Partition:
        """A partition was found: it is read from the offset `first`, unless an earlier start has come further.

        `last` is its end by now, if that is where it shall end.
        """
        known = self.account["offsets"].get(str(number))
        ends = self.account["ends"]
        if last is not None:
            ends.setdefault(str(number), last)
        partition = Partition(
            f"{self.topic} [{number}]",
            self._now(),
            self.account["highest"].get(str(number), BEGIN),
            number=number,
            next=first if known is None else known,
            last=ends.get(str(number)),
            is_over=number in self.account["ended"],
            promised=self.account["promised"].get(str(number), BEGIN),
        )
        self.partitions[number] = partition
        self._furthest = max(self._furthest, partition.progress(self.disorder))
        self.account["offsets"][str(number)] = partition.next
        self._is_changed = True
        self._see_end(partition)
        return partition

    def take(self, number: int, offsets: Sequence[int], values: Sequence[Value]) -> None:
        """Take messages of a partition, in the order of their offsets."""
        partition = self.partitions[number]
        if partition.is_over or not offsets:
            return
        partition.heard, partition.at_end, partition.is_away = self._now(), _NEVER, False
        following, is_marked = offsets[-1] + 1, False
        if partition.last is not None and following > partition.last:
            most = next((place for place, offset in enumerate(offsets) if offset >= partition.last), len(offsets))
            offsets, values, following = offsets[:most], values[:most], partition.last
        if self._end in values:
            most = values.index(self._end)
            offsets, values, following, is_marked = offsets[:most], values[:most], offsets[most] + 1, True
        marks = [place for place, value in enumerate(values) if value and _MARK.fullmatch(value)]
        left = sorted(set(range(len(values))) - set(marks)) if marks else range(len(values))
        if self.rules.count is not None and self.account["total"] + len(left) > self.rules.count:
            most = self.rules.count - self.account["total"]
            following, is_marked = offsets[left[most]], False
            marks, left = [place for place in marks if place < left[most]], left[:most]
        promised = max((int((values[place] or b"")[len(THROUGH) :]) for place in marks), default=BEGIN)
        if len(left) < len(values):
            offsets, values = [offsets[place] for place in left], [values[place] for place in left]
        rows, unfit = self.reader.read(values)
        self.set_aside(
            [MessageReject(self.topic, number, offsets[at], reason, shown(values[at])) for at, reason in unfit]
        )
        self.account["total"] += len(values)
        self.account["fitting"] += len(values) - len(unfit)
        self.arrive(partition, rows)
        partition.promised = max(partition.promised, promised)
        self._furthest = max(self._furthest, promised)
        self._move(partition, following)
        if is_marked:
            self._close(partition)
        if self._waiting_rows >= FLUSH_ROWS:
            self.flush()

    def reach_end(self, number: int, offset: int) -> None:
        """A partition has no more messages by now: its end is at an offset."""
        partition = self.partitions[number]
        partition.is_away = False
        if partition.at_end == _NEVER:
            partition.at_end = self._now()
        # Marks of transactions have offsets too. Of a partition that ended before, the rest stays unread.
        if offset > partition.next and not partition.is_over and not self._has_all:
            self._move(partition, offset)
        self._see_end(partition)

    def pass_over(self, number: int, offset: int) -> None:
        """What lies before an offset is lost, and the user said to go on."""
        partition = self.partitions[number]
        self.account["lost"] += offset - partition.next
        self._move(partition, offset)

    def wants(self, number: int) -> bool:
        """Whether to read on in a partition."""
        partition = self.partitions[number]
        reading = [one for one in self.partitions.values() if not one.is_over]
        return not self.done and not partition.is_over and self.may_send(partition, reading)

    def see_brokers(self, reachable: Mapping[int, bool]) -> None:
        """Which partitions' brokers can be asked now: the silence of the others says nothing.

        When they are back, it is not known what came meanwhile: such a partition must be seen to be at its end again.
        """
        now = self._now()
        for number, partition in self.partitions.items():
            if not reachable.get(number, True):
                partition.at_end, partition.is_away = _NEVER, True
        if any(reachable.values()) or not reachable:
            self.down_since = None
        elif self.down_since is None:
            self.down_since = now

    def offsets_read(self, *, all_of_it: bool = False) -> dict[int, int] | None:
        """The offsets before which the run has read everything for good; None if there is nothing new."""
        reached = reached_by_all(self.spool.folder)
        found = None
        while self._unread and (all_of_it or (reached is not None and not reached.needs(self._unread[0][0]))):
            found = self._unread.popleft()[1]
        return None if found is None else {int(number): offset for number, offset in found.items()}

    def flush(self) -> None:
        """Put what came into the spool, with the offsets."""
        self.account["units"] = dict(self.reader.units)
        super().flush()

    def end(self) -> None:
        """No more will come: release everything; if nothing fits at all, say so."""
        if self.account["rejected"] and not self.account["fitting"]:
            self.stop(self._nothing_fits())
        else:
            super().end()

    def _write(self, through: int) -> None:
        super()._write(through)
        self._unread.append((self.spool.files[-1], dict(self.account["offsets"])))

    def _move(self, partition: Partition, following: int) -> None:
        partition.next = following
        self.account["offsets"][str(partition.number)] = following
        for what in ("highest", "promised"):
            if getattr(partition, what) != BEGIN:
                self.account[what][str(partition.number)] = getattr(partition, what)
        self._is_changed = True
        self._see_end(partition)

    def _see_end(self, partition: Partition) -> None:
        if partition.last is not None and partition.next >= partition.last:
            self._close(partition)

    def _close(self, partition: Partition) -> None:
        partition.is_over = self._is_changed = True
        if partition.number not in self.account["ended"]:
            self.account["ended"] = [*self.account["ended"], partition.number]

    def _through(self) -> int:
        now = self._now()
        awake = [one for one in self.partitions.values() if not one.is_over and not now - one.at_end >= self.rules.idle]
        return min((one.progress(self.disorder) for one in awake), default=self._furthest)

    def _is_end(self) -> bool:
        rules = self.rules
        if self._has_all:
            return True
        if rules.until is not None and self._through() >= rules.until - 1:
            return True
        return bool(self.partitions) and all(one.is_over for one in self.partitions.values())

    @property
    def _has_all(self) -> bool:
        """Whether as many messages came as were asked for."""
        return self.rules.count is not None and bool(self.account["total"] >= self.rules.count)

    def _trouble(self, now: float) -> str | None:
        if not self.account["fitting"] and self.account["rejected"] >= FIRST_TRIED:
            return self._nothing_fits()
        if self.down_since is not None and now - self.down_since >= self.rules.wait:
            return (
                f"{self.place}: no broker has answered for {self.rules.wait:g} s (wait=…). What came is kept: repeat "
                "this command when the cluster is back, and the run goes on from there"
            )
        return None

    def _nothing_fits(self) -> str:
        why = f": {self.rejects.examples[0].reason}" if self.rejects.examples else ""
        return (
            f"{self.place}: none of the first {self.account['total']:,} messages fits{why}. The format is "
            f"{self.reader.format}; expected {self.schema}. See {self.rejects.path}"
        )
