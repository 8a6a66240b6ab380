"""Reads a file block by block as rows of a schema, in bounded memory; what does not fit is set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import polars as pl

from arterial.connectors.csv import (
    Header,
    Records,
    Texts,
    judged,
    read_header,
    read_records,
    record_blocks,
    split_records,
)
from arterial.connectors.files.columnar import columns_of, row_blocks
from arterial.connectors.files.find import CSV, DataFile
from arterial.connectors.files.json_lines import read_objects, text_blocks
from arterial.connectors.frames import check_columns
from arterial.connectors.rejects import Reject
from arterial.connectors.times import NAMES, unit_of
from arterial.connectors.values import TimeOptions, expected_text, from_columns, from_texts, wrong_values
from arterial.errors import DataError, near
from arterial.network.schema import Schema, Type


@dataclass
class Place:
    """How far a file has been read, and what was recognised in it."""

    bytes: int = 0
    lines: int = 0
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
        block = Block(rows, [reject._replace(line=reject.line + self.lines + 1) for reject in sorted(rejects)])
        self.bytes += size
        self.lines += lines
        return block


@dataclass(frozen=True)
class Block:
    """Some rows of a file, and the lines between them that do not fit."""

    rows: pl.DataFrame
    rejects: list[Reject]


def read_blocks(
    file: DataFile, schema: Schema, options: TimeOptions, place: Place, *, ends: bool = True
) -> Iterator[Block]:
    """The rows of a file behind a place, which moves on with each block.

    Without `ends` a last line without its end is left for later.
    """
    if not file.is_text:
        yield from _read_columnar(file, schema, options, place)
        return
    try:
        yield from (_read_csv if file.kind == CSV else _read_json)(file, schema, options, place, ends)
    except OSError as fault:
        raise DataError(f"{file.path}: cannot be read as {file.kind}: {fault.strerror or fault}") from None


def read_csv_lines(data: bytes, header: Header, schema: Schema, options: TimeOptions, place: Place) -> Block:
    """Whole lines of CSV as they arrive, each a record of its own; the place moves on."""
    records, bad, used, passed = split_records(data, header, final=True, by_line=True)
    rows, unfit = _judge_csv(records, header, schema, options, place)
    return place.passed(rows, [*bad, *unfit], used, passed)


def read_json_lines(data: bytes, schema: Schema, options: TimeOptions, place: Place) -> Block:
    """Whole lines of JSON as they arrive; the place moves on."""
    texts, lines, used, passed = read_objects(data, schema.names)
    rows, unfit = _judge(texts, schema, options, place, partial(_line, lines))
    return place.passed(rows, [*texts.rejects, *unfit], used, passed)


def _read_columnar(file: DataFile, schema: Schema, options: TimeOptions, place: Place) -> Iterator[Block]:
    check_columns(columns_of(file), schema, str(file.path), numbers_are_times=True)
    for rows in row_blocks(file, schema.names):
        yield Block(from_columns(rows, schema, recognise(rows, schema, options, place)), [])


def _read_csv(file: DataFile, schema: Schema, options: TimeOptions, place: Place, ends: bool) -> Iterator[Block]:
    with file.open() as stream:
        header = read_header(stream, str(file.path))
        check_names(str(file.path), header.names, schema)
        if place.bytes:
            stream.seek(place.bytes)
        else:
            place.bytes, place.lines = header.size, 1
        for records, bad, used, passed in record_blocks(stream, header, str(file.path), ends=ends):
            rows, unfit = _judge_csv(records, header, schema, options, place)
            yield place.passed(rows, [*bad, *unfit], used, passed)


def _judge_csv(
    records: Records, header: Header, schema: Schema, options: TimeOptions, place: Place
) -> tuple[pl.DataFrame, list[Reject]]:
    """Read what has a type as that type, which is fast; if some text does not fit, all as texts."""
    texts: dict[str, pl.DataType] = {column.name: pl.String() for column in schema}
    types = {c.name: pl.String() if c.type in (Type.TIMESTAMP, Type.BOOL) else c.type.polars for c in schema}
    rows = read_records(records, header, types)
    rejects: list[Reject] = []
    if rows is None:
        records, rejects = _only_utf8(records)
        rows = read_records(records, header, texts)
        assert rows is not None
    fits, unfit = _judge(Texts(rows, records.lines), schema, options, place, records.text)
    return fits, [*rejects, *unfit]


def _only_utf8(records: Records) -> tuple[Records, list[Reject]]:
    """Leave out the records that are not UTF-8."""
    try:
        records.data.decode("utf-8")
        return records, []
    except UnicodeDecodeError:
        pass
    good, rejects = [], []
    for place in range(len(records.starts)):
        try:
            records.data[records.starts[place] : records.ends[place]].decode("utf-8")
            good.append(place)
        except UnicodeDecodeError:
            rejects.append(Reject(int(records.lines[place]), "is not UTF-8", records.text(place)))
    return records.only(good), rejects


def _read_json(file: DataFile, schema: Schema, options: TimeOptions, place: Place, ends: bool) -> Iterator[Block]:
    with file.open() as stream:
        if place.bytes:
            stream.seek(place.bytes)
        for texts, lines, used, passed in text_blocks(stream, schema.names, str(file.path), ends=ends):
            rows, unfit = _judge(texts, schema, options, place, partial(_line, lines))
            yield place.passed(rows, [*texts.rejects, *unfit], used, passed)


def _line(lines: list[bytes], place: int) -> str:
    return lines[place].decode("utf-8", errors="replace").strip()


def _judge(
    texts: Texts, schema: Schema, options: TimeOptions, place: Place, text_of: Callable[[int], str]
) -> tuple[pl.DataFrame, list[Reject]]:
    values = from_texts(texts.rows, schema, recognise(texts.rows, schema, options, place))
    wrong = wrong_values(texts.rows, values)
    if not any(wrong[name].any() for name in wrong.columns):
        return values, []
    fits, unfit = judged(texts, wrong, lambda name, value: expected_text(schema[name]), text_of)
    return values.filter(fits), unfit


def recognise(rows: pl.DataFrame, schema: Schema, options: TimeOptions, place: Place) -> TimeOptions:
    """The options with the units of the numbers that stand in columns of timestamps; the first numbers decide."""
    for column in schema:
        known = column.type is not Type.TIMESTAMP or options.unit or column.name in place.units
        kind = rows.schema[column.name]
        if not known and (kind == pl.String or kind.is_numeric()) and (unit := unit_of(rows[column.name])):
            place.units[column.name] = unit
    return replace(options, recognised=dict(place.units))


def check_names(where: str, names: tuple[str, ...], schema: Schema) -> None:
    """Raise unless a header has all columns of a schema."""
    if missing := [name for name in schema.names if name not in names]:
        raise DataError(
            f"{where}: line 1: the column {', '.join(map(repr, missing))} is missing; it has: "
            f"{', '.join(names)}{near(missing[0], names)}"
        )
