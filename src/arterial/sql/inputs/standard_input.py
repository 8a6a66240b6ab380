"""Standard input as a stream of a query: its first lines say what it is, and the rest is read as it comes.

A file, and all that has come to its end before there is a pause, is read whole, like any other file. Else the types are
those of the lines that came first, and a later line that does not fit them is set aside.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import polars as pl

from arterial.connectors.files.find import has_lines
from arterial.connectors.live.lines import LineFormat, LineReader
from arterial.connectors.rejects import Reject
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.moving.queries.space import Space
from arterial.network.train import BEGIN
from arterial.sql.catalog import StreamEntry
from arterial.sql.inputs.reading import Input, Wishes, read_input

NAME = "standard input"
FIRST_BYTES = 4 << 20
"""At most so much is read before the types are decided."""
PAUSE_SECONDS = 0.2
"""A pause after which they are decided, if a line has come."""
_PIECE = 1 << 20


@dataclass
class MoreRows:
    """What is still to come of a stream whose first rows are known."""

    entry: StreamEntry
    stream: int
    reader: LineReader
    rejects: list[Reject] = field(default_factory=list)
    """The lines that were set aside so far."""

    def pieces(self) -> Iterator[pl.DataFrame]:
        """The rows as they come, until the end."""
        while data := os.read(self.stream, _PIECE):
            block, _ = self.reader.feed(data)
            self.rejects += block.rejects
            if block.rows.height:
                yield self._whole(block.rows)
        # The last line of a pipe has come whole, with its end or without.
        block, _ = self.reader.feed(b"\n")
        self.rejects += block.rejects
        if block.rows.height:
            yield self._whole(block.rows)

    def too_late(self, rows: pl.DataFrame, through: int) -> None:
        """Set rows aside that came when their time was over."""
        for row in rows.iter_rows(named=True):
            reason = f"{self.entry.time} is {row[self.entry.time]}, which was over: rows of a later time had come"
            self.rejects.append(Reject(0, reason, ",".join("" if v is None else str(v) for v in row.values()), NAME))

    def _whole(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that say when, who and where."""
        roles = [one for one in (self.entry.time, self.entry.object, self.entry.x, self.entry.y) if one is not None]
        lacking = rows.filter(pl.any_horizontal(pl.col(name).is_null() for name in roles))
        for row in lacking.iter_rows(named=True):
            name = next(one for one in roles if row[one] is None)
            text = ",".join("" if value is None else str(value) for value in row.values())
            self.rejects.append(Reject(0, f"{name} has no value", text, NAME))
        return rows.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in roles))


def read_standard_input(
    source: BinaryIO, wishes: Wishes, *, table: bool = False, space: Space = Space.PLANE
) -> tuple[Input, MoreRows | None]:
    """What standard input is, with its first rows; and what reads on, if there may be more."""
    content, stream = _first(source, whole=table)
    if stream is None:
        return _read(content, wishes, table, space), None
    end = content.rfind(b"\n") + 1
    given = _read(content[:end], wishes, table, space)
    if not isinstance(given.entry, StreamEntry):  # a table is known when all of it is there
        return _read(content + _rest(stream), wishes, table, space), None
    options = TimeOptions(unit="s") if given.fractional else TimeOptions()
    begin = len(content) - len(content.lstrip(b"\r\n \t\xef\xbb\xbf"))
    is_json = content.startswith(b"{", begin)
    reader = LineReader(NAME, LineFormat(given.entry.schema, "jsonl" if is_json else "csv", None, options))
    if given.unit is not None:
        reader.place.units[given.entry.time] = given.unit  # the first rows decide, and not the next one
    if not is_json:
        reader.feed(content[: content.find(b"\n", begin) + 1])  # the header
    reader.place.lines = content[:end].count(b"\n")
    reader.feed(content[end:])
    said = "; ".join(f"{column.name} {column.type}" for column in given.entry.schema)
    notice = f"{NAME}: the types are those of the first {given.rows.height:,} row(s): {said}"
    return replace(given, notices=(*given.notices, notice)), MoreRows(given.entry, stream, reader)


def merge_steps(
    first: Mapping[str, pl.DataFrame], times: Mapping[str, str], name: str, more: MoreRows
) -> Iterator[tuple[Mapping[str, pl.DataFrame], int | None]]:
    """What can be processed of all sources, as rows come at one of them: whole instants, and up to when they are all.

    An instant is over when a row of a later one has come, or at the end.
    """
    waiting = dict(first)
    done = BEGIN
    for piece in chain([first[name].clear()], more.pieces()):
        instants = _instants(piece, times[name])
        if (instants <= done).any():
            more.too_late(piece.filter(instants <= done), done)
            piece = piece.filter(instants > done)
        both = pl.concat([waiting[name], piece]).sort(times[name], maintain_order=True)
        waiting[name] = both
        if not both.height:
            continue
        through = int(_instants(both, times[name])[-1]) - 1
        ready = {one: rows.filter(_instants(rows, times[one]) <= through) for one, rows in waiting.items()}
        if through > done and any(rows.height for rows in ready.values()):
            waiting = {one: rows.filter(_instants(rows, times[one]) > through) for one, rows in waiting.items()}
            done = through
            yield ready, through
    yield waiting, None


def _instants(rows: pl.DataFrame, time: str) -> pl.Series:
    return rows[time].cast(pl.Int64)


def _first(source: BinaryIO, whole: bool) -> tuple[bytes, int | None]:
    """What comes first: until the end, a pause after a line of data, or a limit; and where there may be more."""
    try:
        stream = source.fileno()
    except (OSError, AttributeError, ValueError):
        return source.read(), None
    if whole or stat.S_ISREG(os.fstat(stream).st_mode):
        return source.read(), None
    content = b""
    ready = select.poll()
    ready.register(stream, select.POLLIN)
    while True:
        enough = content.count(b"\n") > (0 if content.lstrip().startswith(b"{") else 1)
        if enough and (len(content) >= FIRST_BYTES or not ready.poll(1000 * PAUSE_SECONDS)):
            return (content, stream) if has_lines(content) else (content + _rest(stream), None)
        piece = os.read(stream, _PIECE)
        if not piece:
            return content, None
        content += piece


def _rest(stream: int) -> bytes:
    parts = []
    while piece := os.read(stream, _PIECE):
        parts.append(piece)
    return b"".join(parts)


def _read(content: bytes, wishes: Wishes, table: bool, space: Space) -> Input:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "input"  # without an ending: the first bytes say what it is
        path.write_bytes(content)
        try:
            found = read_input(path, wishes, table=table, space=space)
        except DataError as mistake:
            raise DataError(str(mistake).replace(str(path), NAME)) from None
    return replace(found, notices=tuple(notice.replace(str(path), NAME) for notice in found.notices))
