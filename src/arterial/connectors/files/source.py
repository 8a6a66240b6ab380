"""A source of files, in the order of a time column: in real time, faster, or as fast as possible.

The position is a number of rows in the order of time, so any step can be read again. The rows are taken in once, when
the run starts (`intake`); a step always ends where an instant does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.connectors.files.columnar import read_rows
from arterial.connectors.files.find import DataFile, find_files
from arterial.connectors.files.intake import NAME, Intake, Late, Piece, Request, load_intake, new_intake, read_intake
from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.connectors.times import check_options
from arterial.connectors.values import TimeOptions, from_columns
from arterial.errors import DataError, near
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, END, Train

MICROSECONDS = 1_000_000
LOOK_SECONDS = 0.5
"""How often a source that follows looks for more."""

OPTIONS = ("follow", "time_unit", "timezone")
"""What may stand behind a path: `data.csv?follow&timezone=Europe/Berlin`."""


@dataclass(frozen=True)
class FileSource(Source):
    """The tuples of a file, of all files of a folder or of a pattern such as `data/*.csv`, in the order of their names.

    `speed` is how many times faster than real time they come: 1 is real time, None as fast as possible. The clock
    starts with the run, at the first tuple that is not read yet. With `follow` it does not end: lines that are appended
    and files that are added are read too. `time_unit` (s, ms, us, ns) is what numbers in columns of timestamps count,
    if that shall not be recognised; `timezone` is where times without a zone are from, by default UTC.

    Tuples may be out of order by as much as the source box's `disorder` says; what is later leaves by its port `late`.
    """

    path: str | Path
    speed: float | None = None
    follow: bool = False
    time_unit: str | None = None
    timezone: str | None = None
    disorder: int = 0
    request: Request | None = None
    folder: str = ""
    said: tuple[str, ...] = ()
    _paces: list[Pace] = field(default_factory=list, compare=False, repr=False)
    _live: list[_Live] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def from_text(cls, text: str) -> FileSource:
        """A path, maybe with options behind it.

        >>> FileSource.from_text("in/?.csv?follow&time_unit=ms").time_unit
        'ms'
        """
        path, sign, tail = text.rpartition("?")
        if not sign or not re.fullmatch(r"[a-z_]+(=[^&]*)?(&[a-z_]+(=[^&]*)?)*", tail):
            return cls(text)
        options: dict[str, Any] = {}
        for option in tail.split("&"):
            name, equals, value = option.partition("=")
            if name not in OPTIONS:
                raise DataError(
                    f"{text}: unknown option {name!r}; expected one of: {', '.join(OPTIONS)}{near(name, OPTIONS)}"
                )
            options[name] = value not in ("0", "false", "no") if name == "follow" else value if equals else None
        return cls(path, **options)

    def allow(self, disorder: int, *, signed: bool) -> FileSource:
        """Take rows in that are out of order by so much."""
        return replace(self, disorder=disorder)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> FileSource:
        """Find the files, check their columns, and take their rows in, unless an earlier start of the run did."""
        where = f"source {name!r}"
        if self.speed is not None and self.speed <= 0:
            raise DataError(f"{where}: the speed is {self.speed}; expected more than 0")
        check_options(self.time_unit, self.timezone, where)
        request = Request(name, schema, time, self.disorder, TimeOptions(self.time_unit, self.timezone))
        kept = folder / "sources" / name
        files = find_files(Path(self.path), where, may_be_none=self.follow)
        intake = load_intake(kept, request)
        if intake is None:
            intake = new_intake(kept, request)
            if self.follow:
                take_more(intake, files)
            else:
                intake.take_all(files)
            intake.report()
            intake.save()
        else:
            self._take_up(intake, files)
        return replace(self, request=request, folder=str(kept), said=tuple(intake.notices), _live=[], _paces=[])

    def _take_up(self, intake: Intake, files: list[DataFile]) -> None:
        """Go on with what an earlier start of the run read."""
        if not self.follow and (changed := next(intake.changed_files(), None)):
            raise DataError(
                f"{changed}: changed since the run began, or is gone; restore it, or begin again with another "
                "checkpoint. A file that grows is read with follow (PATH?follow)"
            )
        known = {one.path for one in intake.taken}
        new = [file for file in files if str(file.path) not in known]
        if not new or self.follow:
            return
        if known and str(new[0].path) < max(known):
            raise DataError(
                f"{new[0].path}: was added since the run began, in front of files that were read; name it so that it "
                "comes after them, or begin again with another checkpoint"
            )
        intake.take_all(new)
        intake.save()

    @property
    def notices(self) -> tuple[str, ...]:
        """What did not fit, and what was recognised."""
        return self.said

    def begin(self) -> Progress:
        """Before the first row."""
        index = self._index()
        return Progress({"row": 0}, BEGIN if index.rows or index.late or self.follow else END)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As many whole instants as are due and fit."""
        index = self._index(ask.now)
        row, instants = before.position["row"], len(index.times)
        at = int(np.searchsorted(index.begins, row))
        if at == instants:
            through = index.through if self.follow else END
            position = index.position(row, through)
            return before if position == before.position and through <= before.through else Progress(position, through)
        to = max(at + 1, int(np.searchsorted(index.begins, row + ask.tuples, side="right")) - 1)
        due = self._due(int(index.times[at]), ask.now)
        for limit in (due, ask.until):
            if limit is not None and limit != END:
                to = min(to, int(np.searchsorted(index.times, limit, side="right")))
        through = index.through if to == instants else int(index.times[to]) - 1
        if due is not None and through != END:
            through = min(through, due)
        if to <= at and through <= before.through:
            return before
        through = max(through, before.through)
        return Progress(index.position(int(index.begins[max(to, at)]), through), through)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A piece of the rows."""
        assert self.request is not None
        first, last = before.position["row"], after.position["row"]
        begin = first + (last - first) * part.index // part.count
        end = first + (last - first) * (part.index + 1) // part.count
        frames, offset = [], 0
        for piece in _pieces(Path(self.folder))[0] if begin < end else ():
            lower, upper = max(begin - offset, 0), min(end - offset, piece.rows)
            if lower < upper:
                frames.append(self._read(piece, lower, upper))
            offset += piece.rows
        return pl.concat(frames) if frames else self.request.schema.empty()

    def read_trains(self, span: Span, part: Part) -> list[Train]:
        """One train, and the late rows with it."""
        tuples = self.read(span.before, span.after, part)
        return [Train(tuples, span.after.through, self._read_late(span, part))]

    def waiting(self, progress: Progress, now: float) -> int | None:
        """All rows that are not read yet, or those that are due."""
        index = self._index()
        row = int(progress.position["row"])
        at = int(np.searchsorted(index.begins, row))
        due = self._due(int(index.times[at]), now) if at < len(index.times) else None
        if due is None:
            return index.rows - row
        return int(index.begins[int(np.searchsorted(index.times, due, side="right"))]) - row

    def _read(self, piece: Piece, lower: int, upper: int) -> pl.DataFrame:
        assert self.request is not None
        rows = read_rows(Path(piece.path), piece.kind, lower, upper - lower, self.request.schema.names)
        if piece.units is None:
            return rows
        return from_columns(rows, self.request.schema, replace(self.request.options, recognised=piece.units))

    def _read_late(self, span: Span, part: Part) -> pl.DataFrame | None:
        first, last = (progress.position.get("late", 0) for progress in (span.before, span.after))
        if first == last or part.index:
            return None
        late = _pieces(Path(self.folder))[1][first:last]
        return pl.concat([pl.read_parquet(one.path) for one in late])

    def _index(self, now: float | None = None) -> _Index:
        if not self.follow:
            return _saved_index(self.folder, (Path(self.folder) / "index.npy").stat().st_mtime_ns)
        if not self._live:
            assert self.request is not None
            intake = load_intake(Path(self.folder), self.request)
            assert intake is not None
            self._live.append(_Live(intake, _index_of(intake)))
        live = self._live[0]
        if now is not None and abs(now - live.looked) >= LOOK_SECONDS:
            live.looked = now
            files = find_files(Path(self.path), f"source {live.intake.request.name!r}", may_be_none=True)
            if take_more(live.intake, files):
                live.intake.save()
                live.index = _index_of(live.intake)
        return live.index

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


def take_more(intake: Intake, files: list[DataFile]) -> bool:
    """Take in what was added to files, and files that were added; whether there was anything."""
    known = {one.path: one for one in intake.taken}
    some = False
    for file in files:
        taken, size = known.get(str(file.path)), file.path.stat().st_size
        if taken is not None and size < taken.size:
            raise DataError(
                f"{file.path}: became shorter while it was followed; expected a file that only grows. "
                "Write a new file beside it instead"
            )
        if taken is None and not size:
            continue
        if taken is None or (file.can_grow and size > taken.size):
            intake.take(file, ends=not file.can_grow)
            some = True
    if some:
        intake.write()
    return some


@dataclass(frozen=True)
class _Index:
    begins: Array
    times: Array
    late: tuple[Late, ...]
    through: int

    @property
    def rows(self) -> int:
        return int(self.begins[-1])

    def position(self, row: int, through: int) -> dict[str, int]:
        """The position at a row; late rows leave with those that came before them."""
        late = len(self.late) if through == END else sum(late.at <= row for late in self.late)
        return {"row": row, "late": late} if self.late else {"row": row}


@dataclass
class _Live:
    intake: Intake
    index: _Index
    looked: float = 0.0


def _index_of(intake: Intake) -> _Index:
    return _Index(intake.index.begins, intake.index.times, tuple(intake.late), intake.through)


@lru_cache(maxsize=32)
def _saved_index(folder: str, changed: int) -> _Index:
    index = np.load(Path(folder) / "index.npy", mmap_mode="r")
    late = tuple(Late(**one) for one in read_intake(Path(folder))["late"])
    return _Index(index[0], index[1][:-1], late, END)


def _pieces(folder: Path) -> tuple[list[Piece], list[Late]]:
    """The pieces, and those of late rows."""
    return _known_pieces(folder, (folder / NAME).stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _known_pieces(folder: Path, changed: int) -> tuple[list[Piece], list[Late]]:
    content = read_intake(folder)
    return [Piece(**one) for one in content["pieces"]], [Late(**one) for one in content["late"]]
