"""A file that is being read: how far, up to which time it is complete, and the rows that wait for other files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.reorder import split_late
from arterial.connectors.files.ahead import ReadAhead
from arterial.connectors.files.blocks import Block, Place, Reading, read_blocks
from arterial.connectors.files.columnar import reading as columnar
from arterial.connectors.files.columnar.reading import row_bytes, rows_in
from arterial.connectors.files.find import DataFile
from arterial.connectors.files.fingerprint import Fingerprint, fingerprint, what_changed
from arterial.connectors.rejects import Reject
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, FURTHEST
from arterial.storage.remote import path_of

PEEK_SHARE = 10**9
"""A look at the first rows takes the smallest block there is."""


@dataclass(frozen=True)
class Request:
    """What is read, and how."""

    name: str
    schema: Schema
    time: str
    disorder: int
    options: TimeOptions
    signed: bool = False

    @property
    def reading(self) -> Reading:
        """How each of the files is read."""
        return Reading(self.schema, self.options)

    def describe(self) -> dict[str, Any]:
        """What must be the same after a restart."""
        return {
            "schema": {column.name: str(column.type) for column in self.schema},
            "time": self.time,
            "disorder": self.disorder,
            "time_unit": self.options.unit,
            "timezone": self.options.timezone,
        }


@dataclass(frozen=True)
class Taken:
    """What a block of a file brought: how many rows in time, those that are late, how late, and what does not fit."""

    rows: int
    late: pl.DataFrame
    behind: int
    rejects: list[Reject]


@dataclass
class FileReader:
    """A file, with its own progress and its own highest time."""

    file: DataFile
    request: Request
    print: Fingerprint
    """Of the whole file or, if it grows, of what was read of it."""
    grows: bool = False
    """Whether lines may be appended to it while it is read."""
    place: Place = field(default_factory=Place)
    highest: int = BEGIN
    done: bool = False
    """Whether it was read to its end, and does not grow."""
    seen: int = 0
    """Of a file that grows, its size when its end was reached."""
    grew: float = 0.0
    """When that was, in seconds since 1970."""
    held: list[tuple[pl.DataFrame, Array]] = field(default_factory=list)
    """Rows that were read and are not complete yet, with their times."""
    size: int = 0
    """Of a file that grows, its size at the last look."""
    _blocks: Iterator[Block] | None = None
    """Of a file that grows."""
    _ahead: ReadAhead | None = None
    """Of one that is all there."""

    @classmethod
    def of(cls, file: DataFile, request: Request, *, follows: bool) -> FileReader:
        """A file of which nothing was read."""
        grows = follows and file.can_grow
        return cls(file, request, fingerprint(file.path, 0 if grows else None), grows)

    @property
    def complete(self) -> int:
        """No row of it that is still to come, and not late, has this time or an earlier one."""
        return BEGIN if self.highest == BEGIN else self.highest - self.request.disorder - 1

    @property
    def is_open(self) -> bool:
        """Whether it is in the middle of being read."""
        return self._blocks is not None or self._ahead is not None

    @property
    def has_more(self) -> bool:
        """Whether there is something to read now."""
        return not self.done and (not self.grows or self.is_open or self.size > self.seen)

    def look(self) -> None:
        """Look at the first rows: nothing before the time of the first one can come, but late."""
        for block in read_blocks(self.file, replace(self.request.reading, ends=False, share=PEEK_SHARE), Place()):
            times = instants(block.rows[self.request.time].drop_nulls())
            if len(times):
                self.highest = int(times[0])
            return

    def read(self, promised: int, share: int) -> Taken | None:
        """The next block; None if it has no more. Rows not later than `promised` are late."""
        if not self.is_open:
            reading = replace(self.request.reading, ends=not self.grows, share=share)
            self.seen = self.size = self._size() if self.grows else 0
            self._blocks = read_blocks(self.file, reading, self.place) if self.grows else None
            self._ahead = None if self.grows else ReadAhead(self.file, reading, self.place)
        block = self._next()
        self.check_unchanged()
        if block is None or self._is_at_end():
            self.close()
            self.done = not self.grows
        return None if block is None else self._judge(block, promised)

    def close(self) -> None:
        """Stop reading; it goes on from the same place."""
        if self._ahead is not None:
            self._ahead.close()
        self._blocks = self._ahead = None

    def cut_short(self) -> list[Reject]:
        """At the end of a file that grew: a last line without its end, which may be half of one."""
        self.done = True
        size = self._size()
        if size <= self.place.bytes:
            return []
        with self.file.path.open("rb") as file:
            file.seek(self.place.bytes)
            text = file.read(200).decode("utf-8", errors="replace")
        reason = "the last line has no end, so it may be cut short"
        reject = Reject(self.place.lines + 1, reason, text)
        self.place.bytes = size
        return [reject]

    def release(self, through: int) -> list[pl.DataFrame]:
        """The held rows up to a time, in the order in which they came."""
        held, self.held = self.held, []
        given = []
        for rows, times in held:
            now = times <= through
            if now.all():
                given.append(rows)
            elif now.any():
                given.append(rows.filter(pl.Series(now)))
                self.held.append((rows.filter(pl.Series(~now)), times[~now]))
            else:
                self.held.append((rows, times))
        return given

    def rows_left(self) -> int:
        """About how many rows are still to be read."""
        if self.done or not self.place.lines:
            return 0
        if not self.file.is_text:
            return rows_in(self.file) - self.place.lines
        if self.file.compression:
            return 0
        return int((self._size() - self.place.bytes) * self.place.lines / max(self.place.bytes, 1))

    def follow_on(self) -> None:
        """From now on it may grow, if files of its kind can; what it has now is to be read, also behind the end."""
        if self.file.can_grow and not self.grows:
            self.grows, self.done, self.seen = True, False, self.place.bytes
        self.size = self._size() if self.grows else 0

    def difference(self) -> str | None:
        """How the file differs from what was read of it, in words."""
        return what_changed(self.file.path, self.print, grows=self.grows)

    def check_unchanged(self) -> None:
        """Raise if it is not what it was when it was read."""
        path = self.file.path
        if self.grows:
            self.size = self._size()
            if self.size < self.place.bytes:
                raise DataError(
                    f"{path}: became shorter while it was followed: {self.place.bytes:,} bytes were read, it has "
                    f"{self.size:,}; expected a file that only grows. Write a new file beside it instead"
                )
        elif difference := self.difference():
            raise DataError(
                f"{path}: changed while it was read: it {difference}. Begin again with another checkpoint; a file "
                "that grows is read with follow (PATH?follow)"
            )

    def describe(self) -> dict[str, Any]:
        """What is kept of it for a restart; the rows that are held are kept apart."""
        if self.grows and self.print.size != self.place.bytes and self.file.path.exists():
            self.print = fingerprint(self.file.path, self.place.bytes)
        kept = {name: getattr(self, name) for name in ("grows", "highest", "done", "seen", "grew")}
        file = {"path": str(self.file.path), "kind": self.file.kind, "compression": self.file.compression}
        return {**file, **kept, "print": asdict(self.print), "place": asdict(self.place)}

    @classmethod
    def restored(cls, kept: Mapping[str, Any], request: Request, held: pl.DataFrame | None) -> FileReader:
        """What `describe` gave."""
        others = {name: kept[name] for name in ("grows", "highest", "done", "seen", "grew")}
        file = DataFile(path_of(kept["path"]), kept["kind"], kept["compression"])
        reader = cls(file, request, Fingerprint(**kept["print"]), **others, place=Place(**kept["place"]))
        if held is not None and held.height:
            reader.held.append((held, instants(held[request.time])))
        return reader

    def _next(self) -> Block | None:
        if self._ahead is None:
            assert self._blocks is not None
            return next(self._blocks, None)
        block, self.place = self._ahead.take()
        return block

    def _judge(self, block: Block, promised: int) -> Taken:
        """Hold the rows of a block that are in time, by the file's own highest time."""
        request = self.request
        highest = self.highest if self.highest != BEGIN else BEGIN + request.disorder
        rows, late = split_late(block.rows, request.time, highest, promised, request.disorder, request.signed)
        times = instants(rows[request.time])
        behind = _most_behind(block.rows, request, self.highest) if late.height else 0
        if len(times):
            self.highest = max(self.highest, int(times.max()))
            self.held.append((rows, times))
        return Taken(rows.height, late, behind, block.rejects)

    def _is_at_end(self) -> bool:
        """Whether it is known without another look that nothing follows."""
        if self.file.is_text:
            return self.file.compression is None and not self.grows and self.place.bytes >= self.print.size
        return self.place.lines >= rows_in(self.file)

    def _size(self) -> int:
        try:
            return self.file.path.stat().st_size
        except OSError:
            return self.seen  # a file that was followed may be removed once it was read


def instants(times: pl.Series) -> Array:
    """A time column without nulls as integers."""
    return times.to_physical().cast(pl.Int64).to_numpy()


def _most_behind(rows: pl.DataFrame, request: Request, highest: int) -> int:
    """How far the latest of the late rows is behind the highest time before it."""
    times = instants(rows[request.time].drop_nulls())
    times = times[(times >= -FURTHEST) & (times <= FURTHEST)]  # no disorder takes in others
    if not len(times):
        return 0
    before = np.maximum.accumulate(np.concatenate([[highest if highest != BEGIN else times[0]], times]))[:-1]
    behind = int((before - times).max())
    return behind if behind > request.disorder else 0


def check_memory(request: Request, rows: int, what: str) -> None:
    """Raise if so many tuples, which must be in memory at once, are too many for it."""
    size = rows * row_bytes(column.type.polars for column in request.schema)
    if size > (most := columnar.most_bytes()):
        raise DataError(
            f"source {request.name!r}: {what}. An instant is processed as a whole, and what `disorder` covers is held "
            f"back: that takes {size / 2**30:.1f} GiB here, expected at most {most / 2**30:.1f} (a quarter of the "
            "memory). Give a time column with finer times, a smaller disorder, or more memory"
        )
