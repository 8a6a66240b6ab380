"""A source of files, in the order of a time column: in real time, faster, or as fast as possible.

The position is a number of rows in the order of time, so any step can be read again. The driver takes rows in as the
run comes to them (`intake`) and puts them into pieces; tasks read rows of pieces by their numbers. A step always ends
where an instant does.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.files.find import find_files
from arterial.connectors.files.intake import Follow, Intake, load_intake, new_intake
from arterial.connectors.files.pieces import NAME, SlotKey, pieces_in, read_kept
from arterial.connectors.files.reader import Request, check_memory
from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.connectors.times import check_options
from arterial.connectors.values import TimeOptions, instant_of
from arterial.errors import DataError, near
from arterial.network.keys.slots import of_slot
from arterial.network.schema import Schema, Type
from arterial.network.train import END, Train
from arterial.storage.remote import path_of, stamp

MICROSECONDS = 1_000_000
OPTIONS = ("follow", "idle", "time_unit", "timezone", "until")
"""What may stand behind a path: `data.csv?follow&timezone=Europe/Berlin`."""


@dataclass(frozen=True)
class FileSource(Source):
    """The tuples of a file, of all files of a folder, or of a pattern such as `data/*.csv`, in the order of their time.

    Tuples may be out of order in each file by as much as the source box's `disorder` says; what is later leaves by its
    port `late`. Tuples of one time come in the order of the files' names.

    Args:
        path: the file, folder or pattern.
        speed: how many times faster than real time they come: 1 is real time, None as fast as possible. The clock
            starts with the run, at the first tuple that is not read yet.
        follow: read lines that are appended and files that are added too, until a file named `_END` lies beside them.
        idle: a followed file to which nothing was added for so many seconds no longer holds back the others.
        time_unit: what numbers in columns of timestamps count since 1970: s, ms, us or ns; recognised if None.
        timezone: where times without a zone are from, as in Europe/Berlin; UTC if None.
        until: the end: tuples of this time and later are left out, and a source that follows ends there.
    """

    path: str | Path
    speed: float | None = None
    follow: bool = False
    idle: float = 5.0
    time_unit: str | None = None
    timezone: str | None = None
    until: str | int | None = None
    disorder: int = 0
    signed: bool = False
    request: Request | None = None
    folder: str = ""
    _by: list[SlotKey] = field(default_factory=list, compare=False, repr=False)
    """How tasks ask for rows, if they do it by slot."""
    _paces: list[Pace] = field(default_factory=list, compare=False, repr=False)
    _live: list[tuple[Intake, tuple[int, int, int]]] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_text(cls, text: str) -> FileSource:
        """A path, maybe with options behind it.

        >>> FileSource.from_text("in/?.csv?follow&time_unit=ms").time_unit
        'ms'
        """
        path, sign, tail = text.rpartition("?")
        if not sign or not re.fullmatch(r"[a-z_]+(=[^&]*)?(&[a-z_]+(=[^&]*)?)*", tail):
            return cls(text)
        return cls(path, **_options(tail, text))

    def allow(self, disorder: int, *, signed: bool) -> FileSource:
        """Take rows in that are out of order by so much."""
        return replace(self, disorder=disorder, signed=signed)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> FileSource:
        """Find the files, check their columns, and read the first rows; or check that nothing read has changed."""
        where = f"source {name!r}"
        if self.speed is not None and self.speed <= 0:
            raise DataError(f"{where}: the speed is {self.speed}; expected more than 0")
        check_options(self.time_unit, self.timezone, where)
        options = TimeOptions(self.time_unit, self.timezone)
        request = Request(name, schema, time, self.disorder, options, self.signed)
        if self.until is not None:
            instant_of(self.until, time, schema[time], options, f"{where}: until")
        bound = replace(self, request=request, folder=str(folder / "sources" / name), _live=[], _paces=[], _by=[])
        bound._take_up(where)
        return bound

    def _take_up(self, where: str) -> None:
        assert self.request is not None
        folder = path_of(self.folder)
        intake = load_intake(folder, self.request, self._follow)
        files = find_files(path_of(self.path), where, may_be_none=self.follow)
        if intake is None:
            intake = new_intake(folder, self.request, self._follow)
            if not self.follow:
                intake.begin(files)
        elif changed := list(intake.changes()):
            more = f" (and {len(changed) - 1:,} more)" if len(changed) > 1 else ""
            raise DataError(
                f"{where}: the run has read files that changed since: {changed[0]}{more}. Restore them, or begin again "
                "with another checkpoint. A file that only grows is read on with follow (PATH?follow)"
            )
        known = {str(reader.file.path) for reader in intake.readers}
        if not self.follow and (new := [str(file.path) for file in files if str(file.path) not in known]):
            raise DataError(
                f"{where}: files were added since the run began: {', '.join(new[:3])}. Read them too with follow "
                "(PATH?follow), take them away, or begin again with another checkpoint"
            )
        intake.advance(0, 1, time.time())
        intake.close()

    @property
    def notices(self) -> tuple[str, ...]:
        """What did not fit so far, and what was recognised."""
        if not self.folder or not (path_of(self.folder) / NAME).exists():
            return ()
        return tuple(read_kept(path_of(self.folder))["notices"])

    def begin(self) -> Progress:
        """Before the first row."""
        return Progress({"row": 0})

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As many whole instants as are due and fit."""
        last = self._last
        if last is not None and before.through >= last:
            return replace(before, through=END)
        intake = self._intake()
        row = before.position["row"]
        intake.pass_to(row, before.position.get("late", 0))
        intake.advance(row, ask.tuples, ask.now)
        self._keep(intake)
        index = intake.index
        at, instants = index.instant(row), len(index.begins)
        to, through = at, intake.promised
        if at < instants:
            to = max(at + 1, index.instants_until(row + ask.tuples))
            if index.row(at + 1) - row > ask.tuples:
                rows = index.row(at + 1) - row
                check_memory(intake.request, rows, f"{rows:,} tuples have the time {index.times[at]}")
            due = self._due(int(index.times[at]), ask.now)
            for limit in (due, ask.until):
                if limit is not None and limit != END:
                    to = min(to, index.instants_through(limit))
            to = max(to, at)
            if due is not None and to == at:
                due = self._paces[0].last_tick(due)
            if to < instants:
                through = int(index.times[to]) - 1
            if due is not None and through != END:
                through = min(through, due)
        through = max(through, before.through)
        if last is not None and through >= last:
            through = END
        return Progress(self._position(intake, index.row(to), through), through)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A piece of the rows."""
        assert self.request is not None
        first, last = before.position["row"], after.position["row"]
        begin = first + (last - first) * part.index // part.count
        end = first + (last - first) * (part.index + 1) // part.count
        pieces, schema = pieces_in(path_of(self.folder)), self.request.schema
        rows = pieces.read(begin, end, schema) if part.key is None else pieces.read(first, last, schema, part)
        if self._last is not None:
            rows = rows.filter(rows[self.request.time].to_physical() <= self._last)
        return rows

    def read_trains(self, span: Span, part: Part) -> list[Train]:
        """One train, and the late rows with it."""
        tuples = self.read(span.before, span.after, part)
        first, last = (progress.position.get("late", 0) for progress in (span.before, span.after))
        late = None
        if first < last and (part.key or not part.index):
            late = pieces_in(path_of(self.folder)).read_late(first, last)
            late = late if part.key is None else of_slot(late, part.key, part.count, part.index)
        return [Train(tuples, span.after.through, late)]

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """Rows that are copied can be put by slot; files that are read where they are would be read by every slot."""
        return not pieces_in(path_of(self.folder)).in_place

    def deliver_by(self, key: tuple[str, ...], shards: int) -> None:
        """Put what is taken in from now on by slot."""
        self._by[:] = [SlotKey(key, shards)]

    def share(self, progress: Progress) -> float | None:
        """The share of the rows, as far as it is known how many there are."""
        if progress.through == END:
            return 1.0
        if self.follow:
            return None
        intake = self._intake()
        return float(progress.position["row"]) / max(1, intake.index.rows + intake.rows_left())

    def waiting(self, progress: Progress, now: float) -> int | None:
        """About how many rows are not read yet, or are due."""
        intake = self._intake()
        index, row = intake.index, int(progress.position["row"])
        at = index.instant(row)
        due = self._due(int(index.times[at]), now) if at < len(index.times) else None
        if due is None:
            return index.rows - row + intake.rows_left()
        return index.row(index.instants_through(due)) - row

    def waited(self, span: Span, now: float) -> float:
        """How long ago the first row of a step was due, of a paced source."""
        index, row = self._intake().index, int(span.before.position["row"])
        at = index.instant(row)
        if not self._paces or row >= int(span.after.position["row"]) or at >= len(index.times):
            return 0.0
        return max(0.0, now - float(self._paces[0].due(int(index.times[at]))))

    @property
    def _last(self) -> int | None:
        """The last instant before `until`."""
        if self.until is None:
            return None
        assert self.request is not None
        name, kind = self.request.time, self.request.schema[self.request.time]
        return instant_of(self.until, name, kind, self.request.options, f"source {self.request.name!r}: until") - 1

    @property
    def _follow(self) -> Follow | None:
        return Follow(path_of(self.path).absolute(), self.idle) if self.follow else None

    def _position(self, intake: Intake, row: int, through: int) -> dict[str, int]:
        late = intake.late_until(row, through)
        return {"row": row, "late": late} if late else {"row": row}

    def _intake(self) -> Intake:
        """The intake of this process; loaded again if another process went on with it."""
        assert self.request is not None
        saved = _saved(self.folder)
        if not self._live or self._live[0][1] != saved:
            intake = load_intake(path_of(self.folder), self.request, self._follow)
            assert intake is not None
            self._live[:] = [(intake, saved)]
        self._live[0][0].by = self._by[0] if self._by else None
        return self._live[0][0]

    def _keep(self, intake: Intake) -> None:
        self._live[:] = [(intake, _saved(self.folder))]

    def _due(self, first: int, now: float) -> int | None:
        """The last time that is due of a paced source, in the unit of the time column; the first call starts it."""
        if self.speed is None:
            return None
        if not self._paces:
            assert self.request is not None
            units = MICROSECONDS if self.request.schema[self.request.time] is Type.TIMESTAMP else 1
            self._paces.append(Pace(first, self.speed, units))
            self._paces[0].start(now)
        return self._paces[0].last_due(now)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_paces": [], "_live": []}


def _options(text: str, where: str) -> dict[str, Any]:
    """Options as they stand behind a path."""
    options: dict[str, Any] = {}
    for option in text.split("&"):
        name, _, value = option.partition("=")
        if name not in OPTIONS:
            raise DataError(
                f"{where}: unknown option {name!r}; expected one of: {', '.join(OPTIONS)}{near(name, OPTIONS)}"
            )
        if name == "follow":
            if value not in ("", "true", "false"):
                raise DataError(f"{where}: follow is {value!r}; expected follow, follow=true or follow=false")
            options[name] = value != "false"
        elif name == "idle":
            if not re.fullmatch(r"\d+(\.\d+)?", value):
                raise DataError(f"{where}: idle is {value!r}; expected a number of seconds")
            options[name] = float(value)
        else:
            options[name] = value
    return options


def _saved(folder: str) -> tuple[int, int, int]:
    """By what it is seen that the intake was saved again."""
    return stamp(path_of(folder) / NAME)
