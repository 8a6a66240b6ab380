"""What feeds the network from live input: the reports and requests of the seconds that are complete in the spool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from arterial.connectors.source import Ask, Part, Progress, Span
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA, ROAD_KEY, Feed, piece_of
from arterial.linearroad.application.kernels.base.reports import part_rows
from arterial.linearroad.application.live.spool import SpoolFile, files_from, look_at, note_position, read_spool
from arterial.linearroad.formats.events import EVENT_SCHEMA, POSITION_REPORT
from arterial.network.keys.slots import slots
from arterial.network.schema import Schema
from arterial.network.train import Train

_noted: dict[tuple[Path, str], int] = {}


@dataclass(frozen=True, kw_only=True)
class LiveFeed(Feed):
    """A spool as the input.

    Spark asks for the next step when the one before is committed; so what lies before that is read for good, and word
    of it is left in the spool.
    """

    folder: Path
    """The spool."""

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """The seconds that are complete, and due."""
        reader, second = type(self).__name__, before.position["second"]
        if _noted.get((self.folder, reader)) != second:
            note_position(self.folder, reader, second)
            _noted[self.folder, reader] = second
        return super().plan(before, ask)

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many tuples of this source are spooled and not yet read."""
        return sum(map(self._tuples_in, files_from(look_at(self.folder, now).files, progress.position["second"])))

    @abstractmethod
    def _tuples_in(self, file: SpoolFile) -> int:
        """How many tuples of this source a file has."""

    @property
    def _warm_second(self) -> int:
        return 0

    def _end(self, ask: Ask) -> int | None:
        # Both feeds plan for the same moment and must see the same spool.
        ends = [end for end in (look_at(self.folder, ask.now).end, self.until) if end is not None]
        return min(ends, default=None)

    def _fitting(self, second: int, ask: Ask) -> int:
        room, stop = ask.tuples, second
        for file in files_from(look_at(self.folder, ask.now).files, second):
            room -= self._tuples_in(file)
            if room < 0 and stop > second:
                break
            stop = file.last + 1
        return stop if self.until is None else min(stop, self.until)

    def _events(self, before: Progress, after: Progress) -> pa.Table:
        start, stop = before.position["second"], after.position["second"]
        return read_spool(self.folder, start, stop) if start < stop else EVENT_SCHEMA.empty_table()


@dataclass(frozen=True, kw_only=True)
class LiveReportFeed(LiveFeed):
    """The position reports, by expressway and direction."""

    def _tuples_in(self, file: SpoolFile) -> int:
        return file.reports

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """Each task takes the tuples of its slot, which saves sending them to others."""
        return key == ROAD_KEY

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The reports of a slot, or a contiguous piece of all, in the order of time."""
        events = self._events(before, after)
        reports = _tuples(events.filter(pc.equal(events["type"], POSITION_REPORT)), REPORT_SCHEMA)
        if part.key is None:
            return piece_of(reports, part)
        return reports.filter(pl.Series(slots(reports, part.key, part.count) == part.index))

    def read_trains(self, span: Span, part: Part) -> Iterable[Train]:
        """The same, a few seconds at a time, which stay in the processor's cache."""
        tuples = self.read(span.before, span.after, part)
        seconds = tuples["time"].to_numpy()
        ends = [rows.stop for rows in part_rows(seconds)][:-1] if part.key else []
        for start, stop in pairwise([0, *ends, len(tuples)]):
            through = int(seconds[stop]) - 1 if stop < len(tuples) else span.after.through
            yield Train(tuples.slice(start, stop - start), through)


@dataclass(frozen=True, kw_only=True)
class LiveRequestFeed(LiveFeed):
    """The requests of types 2, 3 and 4."""

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A contiguous piece of the requests, in the order of time."""
        events = self._events(before, after)
        return piece_of(_tuples(events.filter(pc.not_equal(events["type"], POSITION_REPORT)), REQUEST_SCHEMA), part)

    def _tuples_in(self, file: SpoolFile) -> int:
        return file.requests


def _tuples(events: pa.Table, schema: Schema) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(events.select(list(schema.names))))
