"""Reads a connection point of a run, from any process: all that is kept, then each new step when it is committed.

Its position is the time through which it has read: what lies between two times is the same tuples in the same order,
whatever became of the files in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from arterial.connectors.points.conditions import Condition
from arterial.connectors.points.contents import (
    Contents,
    Point,
    TableFile,
    origin,
    read_contents,
    read_point,
    stamp_of,
)
from arterial.connectors.points.files import read_files
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.errors import RunError, near
from arterial.network.keys.slots import pieces
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train
from arterial.storage.remote import path_of


class RetentionError(RunError):
    """The retention has removed what was to be read next: the tuples after one time, through another."""

    def __init__(self, point: str, after: int, through: int) -> None:
        super().__init__(
            f"connection point {point!r}: the tuples after {after} through {through} are no longer kept: its retention "
            "is shorter than this query fell behind. Keep more, ask again from the start, or go on without them "
            "(--skip-lost)"
        )
        self.after, self.through = after, through


class StartedOverError(RunError):
    """The table that was read is gone, and another one may be there."""

    def __init__(self, point: str) -> None:
        super().__init__(
            f"connection point {point!r}: its table was begun again, as when a run is started over or its network has "
            "the connection point again, and what is kept now is not what was kept before. Ask again, from the start"
        )


@dataclass
class Reading:
    """What reading has cost so far."""

    bytes: int = 0
    tuples: int = 0
    lost: list[tuple[int, int]] = field(default_factory=list)
    """The times whose tuples were lost to the retention, from after one through another."""
    stamp: tuple[int, ...] | None = None
    contents: Contents = field(default_factory=Contents)


@dataclass(frozen=True)
class PointSource(Source):
    """The stream of a connection point: history first, then live; it ends with the run.

    `since` leaves out what is earlier, `up_to` ends there: no tuple after it is read. `conditions` leave out files and
    row groups; the query must still filter.
    """

    folder: str | Path
    since: int | None = None
    up_to: int | None = None
    conditions: tuple[Condition, ...] = ()
    skip_lost: bool = False
    point: Point | None = None
    columns: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading, compare=False, repr=False)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> PointSource:
        """Check that the table is there, and has the columns that the network wants."""
        own = path_of(self.folder).absolute()
        point = open_point(own)
        for one in schema:
            if one.name not in point.schema or point.schema[one.name] is not one.type:
                has = f"it has {point.schema}{near(one.name, point.schema.names)}"
                if one.name in point.schema:
                    has = f"it is {point.schema[one.name]} there"
                raise RunError(
                    f"source {name!r}: expected the column {one.name!r} ({one.type}) in the connection point "
                    f"{point.name!r}; {has}"
                )
        if time != point.time:
            raise RunError(f"source {name!r}: its time is {time!r}; that of the connection point is {point.time!r}")
        return replace(self, folder=own, point=point, columns=schema.names)

    def begin(self) -> Progress:
        """Before the first tuple that is wanted."""
        through = BEGIN if self.since is None else self.since - 1
        return Progress({"through": through}, through)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """To the end of some files that together have about as many tuples as were asked for."""
        contents = self.look()
        self._check_lost(before.through, contents)
        complete = contents.through
        if ask.until is not None:
            complete = min(complete, ask.until)
        if self.up_to is not None:
            complete = min(complete, self.up_to)
        if complete <= before.through:
            return before
        reach = min(complete, _reach(contents.covering(before.through, complete), before.through, ask.tuples))
        return Progress({"through": reach}, reach)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The tuples after one time, through another."""
        return pieces(self._read(before.through, after.through), part.count)[part.index]

    def read_trains(self, span: Span, part: Part) -> Iterable[Train]:
        """All of it in the first part: only one process reads."""
        if part.count == 1:
            return [Train(self._read(span.before.through, span.after.through), span.after.through)]
        return super().read_trains(span, part)

    def look(self) -> Contents:
        """What counts now; read again only if it has changed."""
        stamp = stamp_of(path_of(self.folder))
        if stamp is None or stamp != self.reading.stamp:
            self.reading.contents = read_contents(path_of(self.folder))
            self.reading.stamp = stamp
            self._check_table()
        return self.reading.contents

    def waiting(self, progress: Progress, now: float) -> int | None:
        """The tuples in files that are not read yet."""
        return sum(file.rows for file in self.look().covering(progress.through, END))

    def _read(self, after: int, through: int) -> pl.DataFrame:
        assert self.point is not None
        while True:
            contents = self.look()
            if contents.through < through:
                self.reading.stamp = None
                contents = self.look()
            if contents.through < through:  # it had more when this was planned
                raise StartedOverError(self.point.name)
            self._check_lost(after, contents)
            after = max(after, contents.lost)  # of instants before, other files may still have a part
            files = contents.covering(after, through)
            try:
                read = read_files(
                    path_of(self.folder), files, self.point.time, after, through, self.columns, self.conditions
                )
            except FileNotFoundError:
                # It no longer counts: merged with others, or too old. The contents say which.
                self.reading.stamp = None
                continue
            self.reading.bytes += read.bytes
            self.reading.tuples += read.tuples.height
            return read.tuples if read.tuples.columns else self._nothing()

    def _check_lost(self, after: int, contents: Contents) -> None:
        """What lies between where one has read to and what is still kept is lost, unless one begins there."""
        if after <= self.begin().through or contents.lost <= after:
            return
        lost = (after, contents.lost)
        if not self.skip_lost:
            assert self.point is not None
            raise RetentionError(self.point.name, *lost)
        if lost not in self.reading.lost:
            self.reading.lost.append(lost)

    def _check_table(self) -> None:
        """Raise if another table is there than the one that was bound.

        To be called after the contents were read: a table that begins again gets its id before its first tuple.
        """
        if self.point is not None:
            now = read_point(path_of(self.folder))
            if now is not None and origin(now.id) != origin(self.point.id):
                raise StartedOverError(self.point.name)

    def _nothing(self) -> pl.DataFrame:
        assert self.point is not None
        return self.point.schema.empty().select(self.columns)


def _reach(files: Sequence[TableFile], after: int, tuples: int) -> int:
    """A time up to which files have about so many tuples, if those of each are spread evenly; `END` if all fit."""
    counted = 0
    for file in sorted(files, key=lambda file: file.latest):
        begin = max(file.earliest, after + 1)
        left = file.rows * (file.latest - begin + 1) // (file.latest - file.earliest + 1)
        if counted + left >= tuples:
            span = (file.latest - begin + 1) * (tuples - counted) // max(1, left)
            # Most of a file is as quickly read as all of it.
            return file.latest if 2 * span > file.latest - begin else begin + max(0, span - 1)
        counted += left
    return END


def open_point(folder: Path) -> Point:
    """What the table in a folder is; raises if there is none, and says which there are."""
    point = read_point(folder)
    if point is None:
        known = point_names(folder.parent)
        raise RunError(
            f"{folder.parent.parent}: there is no connection point {folder.name!r}; "
            + (f"there are: {', '.join(known)}{near(folder.name, known)}" if known else "the run keeps none")
        )
    return point


def point_names(folder: Path) -> Sequence[str]:
    """The tables in the folder of a run's connection points."""
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.name for path in folder.iterdir() if read_point(path) is not None))
