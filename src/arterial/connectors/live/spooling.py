"""Puts rows of several origins into the spool: lines of connections, messages of the partitions of a topic.

Each origin has its own progress: a row is late if it is further behind the highest time of its origin than the disorder
allows. Complete is what lies before the progress of all origins that count. What was said to be complete stays so: a
row that comes for it afterwards is late.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from arterial.boxes.parts.reorder import split_late
from arterial.connectors.live.spool import Reached, Spool, reached_by_all
from arterial.connectors.rejects import RejectRow, Rejects
from arterial.errors import ArterialError
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END
from arterial.storage.appended import writing
from arterial.storage.place import put_in_place

FLUSH_SECONDS = 0.1
"""What came waits so long for its file at most."""
SOON_SECONDS = 0.02
"""It waits so long at least, and longer if a file takes more than a tenth of that."""
FLUSH_ROWS = 200_000
STOPPED = "stopped.json"
"""The file that says why a live input stopped before its end."""


@dataclass
class Origin:
    """What rows come from: how far it has come, and when something was last heard of it."""

    name: str
    heard: float
    highest: int = BEGIN

    def progress(self, disorder: int) -> int:
        """Every row up to this time has come."""
        return BEGIN if self.highest == BEGIN else self.highest - disorder - 1


class Spooling(ABC):
    """Gathers rows and puts them into the spool, with the account of the input; one thread calls it."""

    slack: ClassVar[int] = 0
    """So many bytes more than twice its size a spool may have before the run stops: what comes at once."""

    def __init__(
        self,
        spool: Spool,
        schema: Schema,
        time_column: str,
        account: dict[str, Any],
        *,
        size: int,
        until: int | None = None,
        disorder: int = 0,
        signed: bool = False,
        place: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spool, self.schema, self.time, self.disorder, self.signed = spool, schema, time_column, disorder, signed
        self.size, self.until, self.place = size, until, place
        self.account: dict[str, Any] = {**account, **spool.account}
        self.rejects: Rejects
        self.stopped: str | None = None
        self._now = now
        self._began = self._flushed = now()
        self._furthest = BEGIN
        self._pause = SOON_SECONDS
        self._rows: list[pl.DataFrame] = []
        self._late: list[pl.DataFrame] = []
        self._waiting_rows = 0
        self._is_changed = False

    @property
    def done(self) -> bool:
        """Whether no more is taken."""
        return self.spool.ended or self.stopped is not None

    @property
    def is_read(self) -> bool:
        """Whether the run has read all that is complete."""
        reached = reached_by_all(self.spool.folder) or Reached(-1, BEGIN)
        return reached.through >= self.spool.through

    def may_send(self, origin: Origin, all_origins: Iterable[Origin]) -> bool:
        """Whether to read on; if not, the sender has to wait until there is room."""
        if self.spool.size <= self.size:
            return True
        if not self.is_read:
            return False
        # The run has read all that is complete: it waits for the slowest origins, so those are read.
        slowest = min(one.progress(self.disorder) for one in all_origins)
        return origin.progress(self.disorder) <= slowest

    def fail(self, message: str) -> None:
        """As `stop`, whatever happens."""
        try:
            self.stop(message)
        except ArterialError:
            # The disk refuses even this; the source says so when it is asked.
            self.stopped = message

    def tick(self) -> None:
        """Look at the clock: spool what came, see who is idle, and whether this is the end."""
        if self.done:
            return
        now = self._now()
        if now - self._flushed >= self._pause or self._is_end():
            self._flushed = now
            self.flush()
            self.spool.trim()
            self._pause = min(FLUSH_SECONDS, max(SOON_SECONDS, 10 * (self._now() - now)))
        if self._is_end():
            self.end()
        elif trouble := self._trouble(now):
            self.stop(trouble)
        elif self.spool.size > 2 * self.size + self.slack and self.is_read:
            held = f"{self.spool.size:,} bytes wait for a slow sender, or for the disorder to pass"
            self.stop(f"{self.place}: {held}, with spool={self.size:,}. Give a larger spool=, or a shorter idle=")

    def flush(self) -> None:
        """Put what came into the spool."""
        through = max(self.spool.through, self._through())
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

    def arrive(self, origin: Origin, rows: pl.DataFrame) -> None:
        """Take rows of an origin, in the order in which they came."""
        if not rows.height:
            return
        highest = origin.highest if origin.highest != BEGIN else BEGIN + self.disorder
        tuples, late = split_late(rows, self.time, highest, self.spool.through, self.disorder, self.signed)
        if tuples.height:
            top = tuples[self.time].to_physical().cast(pl.Int64).max()
            assert isinstance(top, int)
            origin.highest = max(origin.highest, top)
            self._furthest = max(self._furthest, origin.progress(self.disorder))
        if self.until is not None and tuples.height:
            tuples = tuples.filter(tuples[self.time].to_physical().cast(pl.Int64) < self.until)
        self._rows.append(tuples)
        self._late.append(late)
        self.account["late"] += late.height
        self._waiting_rows += rows.height
        self._is_changed = True

    def set_aside(self, rejects: Collection[RejectRow]) -> None:
        """Keep what does not fit."""
        if rejects:
            self.rejects.add(rejects)
            self.account["rejected"] += len(rejects)
            self.account["reject bytes"] = self.rejects.size
            self._is_changed = True

    def _write(self, through: int) -> None:
        rows = pl.concat(self._rows) if self._rows else self.schema.empty()
        late = pl.concat(self._late) if self._late else self.schema.empty()
        rows = rows.sort(self.time, maintain_order=True)
        times = rows[self.time].to_physical().cast(pl.Int64)
        low, high = (int(times[0]), int(times[-1])) if rows.height else (END, BEGIN)
        table: pa.Table = pl.concat([rows, late]).to_arrow(compat_level=pl.CompatLevel.oldest())
        self.spool.account = self.account
        self.spool.write(table, through, low=low, high=high, late=late.height)
        self._rows, self._late, self._waiting_rows, self._is_changed = [], [], 0, False

    @abstractmethod
    def _through(self) -> int:
        """Through which time everything has come."""

    @abstractmethod
    def _is_end(self) -> bool:
        """Whether this is the end."""

    @abstractmethod
    def _trouble(self, now: float) -> str | None:
        """Why to stop before the end, if there is a reason."""
