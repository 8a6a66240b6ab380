"""Files as streams and tables: CSV with a header, Parquet, or moving events; typed by reading what is in them.

A row without an object, a time or a position that can be read is set aside, with its number and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from arterial.connectors.csv import Texts, judged, read_texts
from arterial.connectors.files.columnar.reading import columns_of, read_whole
from arterial.connectors.files.find import CSV, PARQUET, data_file
from arterial.connectors.files.inspection import keys_of
from arterial.connectors.files.json_lines import read_all
from arterial.connectors.rejects import Reject
from arterial.connectors.times import (
    FORMATS,
    NAMES,
    SECONDS_FROM,
    expected_number,
    of_another_unit,
    parse_times,
    times_of_numbers,
    unit_of,
    why_no_time,
)
from arterial.connectors.values import is_number, wrong_values
from arterial.errors import DataError
from arterial.moving.files.event_file import FIELDS, read_events
from arterial.moving.files.event_table import EVENT_SCHEMA
from arterial.moving.queries.space import Space
from arterial.network.schema import Field, Schema, Type, can_be_named, within_years
from arterial.sql.catalog import (
    OBJECT_NAMES,
    TIME_NAMES,
    X_NAMES,
    Y_NAMES,
    StreamEntry,
    TableEntry,
    column_like,
)

MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Wishes:
    """Which columns say who, where and when; what is not said is found by its name."""

    object: str | None = None
    x: str | None = None
    y: str | None = None
    time: str | None = None
    rows: bool = False
    """All rows stand, not the latest of each object."""


@dataclass(frozen=True)
class Input:
    """A file that was read: a stream in the order of its time, or a table."""

    entry: StreamEntry | TableEntry
    rows: pl.DataFrame
    rejects: tuple[Reject, ...] = ()
    notices: tuple[str, ...] = ()
    fractional: bool = False
    """Whether its times are numbers with fractions of a second, held as timestamps."""
    unit: str | None = None
    """The unit of its times that was recognised, if they are numbers since 1970 and not seconds."""


def read_input(path: Path, wishes: Wishes, *, table: bool = False, space: Space = Space.PLANE) -> Input:
    """Read a file. Without a column for the time it is a table."""
    if not path.is_file():
        raise DataError(
            f"{path}: there is no such file; expected CSV with a header, JSON lines, Parquet, Arrow, or events"
        )
    try:
        file = data_file(path)
        if not file.is_text:
            found = read_whole(file, tuple(filter(can_be_named, columns_of(file))))
            if file.kind == PARQUET and set(EVENT_SCHEMA.names) <= set(found.columns):
                return _from_events(path, space)
            return _typed(path, _numbered(found), wishes, table, space)
        if file.kind == CSV and file.compression is None and _has_events(path):
            return _from_events(path, space)
        with file.open() as stream:
            if file.kind == CSV:
                texts = read_texts(path, aside=True, opened=stream)
            else:
                texts = read_all(stream, tuple(filter(can_be_named, keys_of(file))))
        return _typed(path, texts, wishes, table, space)
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None


def as_fractions(given: Input) -> Input:
    """The same stream with its whole seconds held as timestamps, as others of the query are."""
    entry = given.entry
    if not isinstance(entry, StreamEntry) or entry.schema[entry.time] is Type.TIMESTAMP:
        return given
    rows = given.rows.with_columns((pl.col(entry.time) * MICROSECONDS).cast(pl.Datetime("us")))
    return replace(given, entry=replace(entry, schema=_schema_of(rows)), rows=rows, fractional=True)


def _has_events(path: Path) -> bool:
    with path.open("rb") as file:
        for _ in range(100):
            line = file.readline(10_000)
            if not line:
                return False
            fields = line.decode("utf-8", errors="replace").strip(" \t\r\n\ufeff").split(",")
            if fields != [""]:
                return len(fields) > 2 and fields[1].strip() in FIELDS
    return False


def _from_events(path: Path, space: Space) -> Input:
    parts: list[pl.DataFrame] = []
    rejects: list[Reject] = []
    queries = 0
    for block in read_events(path, space=space):
        parts.append(pl.DataFrame({"t": block.times, "object": block.ids, "x": block.x, "y": block.y}))
        rejects += block.rejects
        queries += len(block.queries)
    notices = (f"{path}: {queries:,} event(s) of queries are not asked here; only objects are read",) if queries else ()
    rows = pl.concat(parts).with_columns(pl.col("object").cast(pl.String))
    made = _typed(path, _numbered(rows), Wishes(), False, space)
    return replace(made, rejects=tuple(rejects), notices=(*notices, *made.notices))


def _numbered(rows: pl.DataFrame) -> Texts:
    return Texts(rows, range(1, rows.height + 1))


def _typed(path: Path, texts: Texts, wishes: Wishes, table: bool, space: Space) -> Input:
    """The columns as their types, the roles of some of them, and the rows that cannot be used."""
    found = texts.rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    texts = replace(texts, rows=found)
    if not found.columns:
        raise DataError(f"{path}: has no columns; expected a line with their names, then rows")
    time = None if table else _role(path, found.columns, wishes.time, TIME_NAMES)
    roles = {
        "object": _role(path, found.columns, wishes.object, OBJECT_NAMES),
        "x": _role(path, found.columns, wishes.x, X_NAMES),
        "y": _role(path, found.columns, wishes.y, Y_NAMES),
    }
    if time is None:
        rows = pl.DataFrame({name: _column(found[name]) for name in found.columns})
        fits, unfit = judged(texts, wrong_values(found, rows), lambda name, value: str(_schema_of(rows)[name]))
        return Input(TableEntry(_schema_of(rows)), rows.filter(fits), tuple(sorted([*texts.rejects, *unfit])))
    if wishes.rows:
        roles["object"] = None
    if roles["x"] is None or roles["y"] is None:
        roles["x"] = roles["y"] = None
    columns, wrong, notices = [], [], []
    fractional, unit = False, None
    for name in found.columns:
        series = found[name]
        if name == time:
            if not (series.dtype in (pl.String, pl.Date, pl.Null, pl.Datetime) or series.dtype.is_numeric()):
                raise DataError(
                    f"{path}: the column {time!r} is {series.dtype} and cannot be the time; expected {FORMATS}"
                )
            column, fractional, unit = _times(series)
            column = within_years(column) if isinstance(column.dtype, pl.Datetime) else column
            if unit is not None:
                notices.append(f"{path}: numbers in column {time!r} are read as {NAMES[unit]} since 1970")
        elif name in (roles["x"], roles["y"]):
            column = _numbers(series)
            if space is Space.LONLAT:
                low, high = (-180.0, 360.0) if name == roles["x"] else (-90.0, 90.0)
                column = column.set(~column.is_between(low, high).fill_null(True), None)
        else:
            column = _column(series)
        if name == time or name in roles.values():
            wrong.append(column.is_null().alias(name))
        else:
            wrong.append((series.is_not_null() & column.is_null()).alias(name))
        columns.append(column.alias(name))
    rows = pl.DataFrame(columns)

    def expected(name: str, value: object) -> str:
        if name == time and is_number(value):
            return expected_number(unit or "s")
        if name == time:
            return why_no_time(str(value), None) or "a time"
        return "a value" if value is None else "a number in its range"

    fits, unfit = judged(texts, pl.DataFrame(wrong), expected)
    rows = rows.filter(fits)
    if not rows[time].is_sorted():
        rows = rows.sort(time, maintain_order=True)
        notices.append(f"{path}: the rows were not in the order of {time}, and were put in it")
    entry = StreamEntry(_schema_of(rows), time, roles["object"], roles["x"], roles["y"])
    return Input(entry, rows, tuple(sorted([*texts.rejects, *unfit])), tuple(notices), fractional, unit)


def _role(path: Path, columns: Sequence[str], wish: str | None, names: tuple[str, ...]) -> str | None:
    if wish is not None:
        exact = [name for name in columns if name == wish] or [n for n in columns if n.lower() == wish.lower()]
        if exact:
            return exact[0]
    return column_like(Schema(tuple(Field(name, Type.STRING) for name in columns)), names)


def _times(series: pl.Series) -> tuple[pl.Series, bool, str | None]:
    """The times as integers or timestamps, whichever more of them are, whether they are seconds with fractions, and
    the unit of numbers that are not seconds."""
    if series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
        if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return series.cast(pl.Datetime("us")), False, None
    if series.dtype == pl.String:
        text = series.str.strip_chars()
        numbers = text.cast(pl.Float64, strict=False)
        instants = parse_times(text.set(numbers.is_not_null(), None))
        if instants.is_not_null().sum() > numbers.is_not_null().sum():
            return instants, False, None
        whole = text.cast(pl.Int64, strict=False)
    else:
        numbers = series.cast(pl.Float64, strict=False)
        whole = series.cast(pl.Int64, strict=False) if series.dtype.is_integer() else numbers.clear(len(numbers))
    middle = pl.Series([numbers.filter(numbers.is_finite()).median()], dtype=pl.Float64)
    if (unit := unit_of(middle)) not in (None, "s"):
        return times_of_numbers(numbers, unit, exact=whole, recognised=True), False, unit
    if unit and middle[0] > SECONDS_FROM:
        numbers = numbers.set(of_another_unit(numbers, unit).fill_null(False), None)
    numbers = numbers.set(~numbers.is_finite().fill_null(True) | (numbers.abs() > 9e12).fill_null(False), None)
    if (whole.is_not_null() | numbers.is_null()).all():
        return whole.set(numbers.is_null(), None), False, None
    if (numbers.drop_nulls() == numbers.drop_nulls().floor()).all():
        return numbers.cast(pl.Int64), False, None
    return (numbers * MICROSECONDS).round().cast(pl.Int64).cast(pl.Datetime("us")), True, None


def _numbers(series: pl.Series) -> pl.Series:
    if series.dtype == pl.String:
        series = series.str.strip_chars()
    numbers = series.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def _column(series: pl.Series) -> pl.Series:
    """A column as the narrowest type that all its texts are written in: integers, numbers, bools, else texts."""
    if series.dtype != pl.String:
        return _known(series)
    text = series.str.strip_chars()
    given = text.drop_nulls()
    if given.len() and given.str.contains(r"^-?(0|[1-9]\d{0,18})$").all():
        whole = text.cast(pl.Int64, strict=False)
        if whole.null_count() == text.null_count():
            return whole
    if given.len() and not given.str.contains(r"^[+-]?0\d").any():
        numbers = text.cast(pl.Float64, strict=False)
        if numbers.null_count() == text.null_count():
            return numbers
    lower = given.str.to_lowercase()
    if given.len() and lower.is_in(["true", "false"]).all():
        return (text.str.to_lowercase() == "true").alias(series.name)
    return series


def _known(series: pl.Series) -> pl.Series:
    """A column of a Parquet file as one of our types."""
    kind = series.dtype
    if kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float64, pl.Boolean):
        return series
    if kind.is_integer():
        return series.cast(pl.Int64, strict=False)
    if kind.is_numeric():
        return series.cast(pl.Float64)
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return _times(series)[0]
    if kind.is_nested() or kind in (pl.Binary, pl.Time, pl.Duration, pl.Object):
        raise DataError(f"the column {series.name!r} is {kind}; expected numbers, texts, bools or times")
    return series.cast(pl.String)


_TYPES: tuple[tuple[pl.DataType, Type], ...] = tuple((kind.polars, kind) for kind in Type)


def _schema_of(rows: pl.DataFrame) -> Schema:
    return Schema(tuple(Field(name, next(t for p, t in _TYPES if p == kind)) for name, kind in rows.schema.items()))
