"""Reads a file block by block as rows of a schema, in bounded memory; what does not fit is set aside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO

import polars as pl

from arterial.connectors import csv
from arterial.connectors.csv import (
    Header,
    Records,
    Texts,
    judged,
    only_utf8,
    read_header,
    read_records,
    record_blocks,
    split_records,
)
from arterial.connectors.files.columnar.reading import BLOCK_ROWS, columns_of, read_rows, rows_in
from arterial.connectors.files.find import CSV, DataFile
from arterial.connectors.files.json_lines import line_blocks, line_count, read_objects
from arterial.connectors.frames import check_columns
from arterial.connectors.rejects import Reject
from arterial.connectors.times import NAMES
from arterial.connectors.values import TimeOptions, from_columns, from_texts, recognised, wrong_values
from arterial.errors import DataError, near
from arterial.network.schema import Schema, Type

LEAST_BYTES = 64 * 1024
"""Blocks are never smaller, however many files are read side by side."""


@dataclass
class Place:
    """How far a file has been read, and what was recognised in it."""

    bytes: int = 0
    lines: int = 0
    """Lines of text, or rows of Parquet or Arrow."""
    units: dict[str, str] = field(default_factory=dict)
    """The unit of numbers in columns of timestamps."""

    def notice(self, where: str, options: TimeOptions) -> str | None:
        """What the user should know about it."""
        if options.unit or not self.units:
            return None
        said = ", ".join(f"{name} as {NAMES[unit]}" for name, unit in self.units.items())
        return f"{where}: numbers are read since 1970: {said}; time_unit says otherwise"

    def passed(self, rows: pl.DataFrame, rejects: list[Reject], size: int, lines: int) -> Block:
        """Move on by a block, of which rejects have the numbers of their lines counted from 0."""
        block = Block(rows, _numbered(rejects, self.lines))
        self.bytes += size
        self.lines += lines
        return block


@dataclass(frozen=True)
class Block:
    """Some rows of a file, and the lines between them that do not fit."""

    rows: pl.DataFrame
    rejects: list[Reject]


Judged = tuple[pl.DataFrame, list[Reject]]
"""The rows that fit, and the lines that do not, counted from 0."""


@dataclass(frozen=True)
class CutBlock:
    """Whole lines of a file that nobody has looked at yet, and the place behind them."""

    judge: Callable[[dict[str, str]], Judged]
    """Reads them, in any thread. It is given the units that were recognised before, and adds to them."""
    before: int
    """How many lines of the file come before."""
    bytes: int
    lines: int

    def block(self, judged: Judged) -> Block:
        """What came of it, with the numbers of lines in the file."""
        rows, rejects = judged
        return Block(rows, _numbered(rejects, self.before))


@dataclass(frozen=True)
class Reading:
    """How a file is read: as what, how its times are written, and in which share of the usual size of a block."""

    schema: Schema
    options: TimeOptions
    ends: bool = True
    """Whether the file is all there. If not, a last line without its end is left for later."""
    share: int = 1

    @property
    def block_bytes(self) -> int:
        """About so many bytes of text make a block."""
        return max(csv.BLOCK_BYTES // self.share, min(LEAST_BYTES, csv.BLOCK_BYTES))

    @property
    def block_rows(self) -> int:
        """So many rows of Parquet or Arrow make a block."""
        return max(BLOCK_ROWS // self.share, 1000)


def read_blocks(file: DataFile, reading: Reading, place: Place) -> Iterator[Block]:
    """The rows of a file behind a place, which moves on with each block."""
    for cut in cut_blocks(file, reading, place):
        block = cut.block(cut.judge(place.units))
        place.bytes, place.lines = cut.bytes, cut.lines
        yield block


def cut_blocks(file: DataFile, reading: Reading, place: Place) -> Iterator[CutBlock]:
    """A file behind a place, cut between lines into blocks that can be judged side by side."""
    if not file.is_text:
        yield from _cut_columnar(file, reading, place)
        return
    try:
        yield from (_cut_csv if file.kind == CSV else _cut_json)(file, reading, place)
    except OSError as fault:
        raise DataError(f"{file.path}: cannot be read as {file.kind}: {fault.strerror or fault}") from None


def read_csv_lines(data: bytes, header: Header, reading: Reading, place: Place, *, by_line: bool = True) -> Block:
    """Whole lines of CSV as they arrive, each a record of its own; the place moves on.

    Not `by_line`: a record may have several, with line ends within quotes.
    """
    records, bad, used, passed = split_records(data, header, final=True, by_line=by_line)
    return place.passed(*_judge_csv(records, bad, header, reading, place.units), used, passed)


def read_json_lines(data: bytes, reading: Reading, place: Place) -> Block:
    """Whole lines of JSON as they arrive; the place moves on."""
    return place.passed(*_judge_json(data, reading, place.units), len(data), line_count(data))


def read_frame(rows: pl.DataFrame, where: str, reading: Reading, place: Place) -> Block:
    """Typed rows as they arrive; raises `DataError` unless they have the columns. The place moves on."""
    check_columns(rows.schema, reading.schema, where, reads_times=True)
    judged = _judge_columns(rows.select(reading.schema.names), reading, place.units)
    return place.passed(*judged, 0, rows.height)


def _cut_columnar(file: DataFile, reading: Reading, place: Place) -> Iterator[CutBlock]:
    check_columns(columns_of(file), reading.schema, str(file.path), reads_times=True)
    names, rows = reading.schema.names, rows_in(file)
    for first in range(place.lines, rows, reading.block_rows):
        count = min(reading.block_rows, rows - first)

        def judge(units: dict[str, str], first: int = first, count: int = count) -> Judged:
            return _judge_columns(read_rows(file.path, file.kind, first, count, names), reading, units)

        yield CutBlock(judge, first, 0, first + count)


def _judge_columns(rows: pl.DataFrame, reading: Reading, units: dict[str, str]) -> Judged:
    options = _recognise(rows, reading, units)
    values = from_columns(rows, reading.schema, options)
    return _only_fitting(Texts(rows, range(rows.height)), values, reading.schema, options)


def _cut_csv(file: DataFile, reading: Reading, place: Place) -> Iterator[CutBlock]:
    with file.open() as stream:
        header = read_header(stream, str(file.path), ends=reading.ends)
        if header is None:
            return
        check_names(str(file.path), header.names, reading.schema)
        if place.bytes:
            _pass_over(stream, place.bytes - header.size)
        else:
            place.bytes, place.lines = header.size, 1
        size, lines = place.bytes, place.lines
        for records, bad, used, passed in record_blocks(stream, header, ends=reading.ends, size=reading.block_bytes):
            size += used
            yield CutBlock(partial(_judge_csv, records, bad, header, reading), lines, size, lines + passed)
            lines += passed


def _judge_csv(records: Records, bad: list[Reject], header: Header, reading: Reading, units: dict[str, str]) -> Judged:
    """Read what has a type as that type, which is fast; if some text does not fit, all as texts."""
    texts: dict[str, pl.DataType] = {column.name: pl.String() for column in reading.schema}
    by_text = (Type.TIMESTAMP, Type.BOOL)
    types = {c.name: pl.String() if c.type in by_text else c.type.polars for c in reading.schema}
    rows = read_records(records, header, types)
    rejects: list[Reject] = []
    if rows is None:
        records, rejects = only_utf8(records)
        rows = read_records(records, header, texts)
        assert rows is not None
        # As Polars reads numbers above: what a line becomes must not depend on its neighbours.
        numbers = [name for name, kind in types.items() if kind != pl.String]
        rows = rows.with_columns(pl.when(pl.col(numbers).str.strip_chars() != "").then(pl.col(numbers)))
    fits, unfit = _judge(Texts(rows, records.lines), reading, units, records.text)
    return fits, [*bad, *rejects, *unfit]


def _cut_json(file: DataFile, reading: Reading, place: Place) -> Iterator[CutBlock]:
    with file.open() as stream:
        _pass_over(stream, place.bytes)
        size, lines = place.bytes, place.lines
        for data, too_long, used, passed in line_blocks(stream, ends=reading.ends, size=reading.block_bytes):
            size += used
            yield CutBlock(partial(_judge_json, data, reading, too_long=too_long), lines, size, lines + passed)
            lines += passed


def _judge_json(data: bytes, reading: Reading, units: dict[str, str], too_long: Sequence[Reject] = ()) -> Judged:
    texts, lines = read_objects(data, reading.schema.names)
    rows, unfit = _judge(texts, reading, units, partial(_line, lines))
    return rows, [*too_long, *texts.rejects, *unfit]


def _pass_over(stream: BinaryIO, count: int) -> None:
    """Go on by so many bytes; what is compressed must be unpacked to get there."""
    if stream.seekable():
        stream.seek(count, os.SEEK_CUR)
        return
    while count > 0 and (passed := stream.read(min(count, csv.BLOCK_BYTES))):
        count -= len(passed)


def _line(lines: list[bytes], place: int) -> str:
    return lines[place].decode("utf-8", errors="replace").strip()


def _numbered(rejects: list[Reject], before: int) -> list[Reject]:
    """Rejects of a block with the numbers of their lines in the file, of which so many come before the block."""
    return [reject._replace(line=reject.line + before + 1) for reject in sorted(rejects)]


def _judge(texts: Texts, reading: Reading, units: dict[str, str], text_of: Callable[[int], str]) -> Judged:
    options = _recognise(texts.rows, reading, units)
    values = from_texts(texts.rows, reading.schema, options)
    return _only_fitting(texts, values, reading.schema, options, text_of)


def _only_fitting(
    found: Texts,
    values: pl.DataFrame,
    schema: Schema,
    options: TimeOptions,
    text_of: Callable[[int], str] | None = None,
) -> Judged:
    """Without the rows of which a value was there and is null now, because it is not of its type."""
    wrong = wrong_values(found.rows, values)
    if not any(wrong[name].any() for name in wrong.columns):
        return values, []
    columns = {column.name: column for column in schema}
    fits, unfit = judged(found, wrong, lambda name, value: options.expected(columns[name], value), text_of)
    return values.filter(fits), unfit


def _recognise(rows: pl.DataFrame, reading: Reading, units: dict[str, str]) -> TimeOptions:
    """The options with the units that are known, and those that these rows show."""
    options = recognised(rows, reading.schema, replace(reading.options, recognised=units))
    units.update(options.recognised or {})
    return options


def check_names(where: str, names: tuple[str, ...], schema: Schema) -> None:
    """Raise unless a header has all columns of a schema."""
    if missing := [name for name in schema.names if name not in names]:
        raise DataError(
            f"{where}: line 1: the column {', '.join(map(repr, missing))} is missing; it has: "
            f"{', '.join(names)}{near(missing[0], names)}"
        )
