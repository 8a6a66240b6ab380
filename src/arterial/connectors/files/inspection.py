"""Looks at a file that nobody described yet: its columns and their types, its time, its disorder, its bad lines."""

from __future__ import annotations

import json
import keyword
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.connectors.csv import LONGEST_LINE, read_header, read_records, record_blocks
from arterial.connectors.files.blocks import Place, Reading, read_blocks
from arterial.connectors.files.columnar.reading import columns_of, row_blocks
from arterial.connectors.files.find import CSV, DataFile, find_files
from arterial.connectors.files.json_lines import is_text, text_blocks
from arterial.connectors.files.reader import instants
from arterial.connectors.rejects import EXAMPLES
from arterial.connectors.times import FORMATS, NAMES, check_options, parse_times, unit_of
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.duration import as_duration
from arterial.network.schema import EXPECTED_NAMES, Field, Schema, Type, can_be_named
from arterial.network.train import BEGIN
from arterial.storage.remote import path_of

TIME_NAMES = ("time", "timestamp", "ts", "t", "datetime", "date", "at", "event_time", "created_at", "when", "seconds")
MOST_BAD = 0.1
"""A column has a type if no more than this share of its texts are something else; those are bad lines."""

_FIRST_ROWS = 1000
"""So many rows of Parquet or Arrow are looked at for times that have another type."""

_EPOCH_FROM = 100_000_000
"""Integers below, which would be before 1973, are taken for seconds since some other beginning."""

_DATE = r"(?:\d{4}-|\d{8}[Tt])"
"""How a date begins that is no number."""


@dataclass
class Inspection:
    """What is in a file, and the source that would read it."""

    path: str
    kind: str
    schema: Schema
    time: str | None
    rows: int = 0
    disorder: int = 0
    first: Any = None
    last: Any = None
    without_time: int = 0
    bad: int = 0
    examples: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """The columns that no type of a source can hold, with what they are."""
    read: str = ""
    """The file that was looked at, if it is the first of several."""

    @property
    def source(self) -> str:
        """The line that draws a source for it."""
        name = re.sub(r"\W+", "_", Path(self.path).name.split(".")[0]).strip("_").lower() or "source"
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"source_{name}"
        columns = ", ".join(f'{_in_quotes(column.name)}: "{column.type}"' for column in self.schema)
        disorder = f', disorder="{self._disorder}"' if self.disorder else ""
        time = _in_quotes(str(self.time))
        return f'{name} = net.source("{name}", {{{columns}}}, time={time}{disorder})'

    @property
    def _disorder(self) -> str:
        return as_duration(self.disorder, Type.INT64 if self.time is None else self.schema[self.time])

    def describe(self) -> dict[str, Any]:
        """All of it, as data."""
        return {
            "file": self.path,
            "read": self.read or self.path,
            "kind": self.kind,
            "rows": self.rows,
            "columns": {column.name: str(column.type) for column in self.schema},
            "left_out": self.left_out,
            "time": self.time,
            "units": self.units,
            "first": None if self.first is None else str(self.first),
            "last": None if self.last is None else str(self.last),
            "disorder": self._disorder if self.disorder else "0 s",
            "rows_without_time": self.without_time,
            "bad_lines": self.bad,
            "examples": self.examples,
            "source": self.source if self.time else None,
        }

    def lines(self) -> list[str]:
        """All of it, to read."""
        width = max(len(name) for name in self.schema.names)
        where = f"{self.path} (only the first file was read: {self.read})" if self.read else self.path
        said = [f"{where}: {self.kind}, {self.rows:,} rows that fit, {self.bad:,} bad line(s)"]
        for column in self.schema:
            note = " <- the time" if column.name == self.time else ""
            unit = f", numbers of {NAMES[self.units[column.name]]} since 1970" if column.name in self.units else ""
            said.append(f"  {column.name:{width}}  {column.type}{unit}{note}")
        said += [f"  {name:{width}}  left out: it is {kind}" for name, kind in self.left_out.items()]
        said += [f"  {example}" for example in self.examples]
        if self.time is None:
            return [
                *said,
                f"No column looks like a time; expected one named {', '.join(TIME_NAMES[:4])}, or say --time",
            ]
        if self.first is None:
            said.append("time: no row has one")
        else:
            said.append(
                f"time: from {self.first} to {self.last}, disorder {self._disorder if self.disorder else 'none'}"
            )
        if self.without_time:
            said.append(f"{self.without_time:,} row(s) have no time and would leave by the port 'late'")
        return [*said, "", self.source]


def inspect_file(path: Path, *, time: str | None = None, options: TimeOptions | None = None) -> Inspection:
    """Look at a file; of a folder or a pattern, at the first."""
    options = options or TimeOptions()
    check_options(options.unit, options.timezone, str(path))
    file, *others = find_files(path_of(path), "inspect")
    names = _names_of(file)
    if not any(map(can_be_named, names)):
        raise DataError(f"{file.path}: has no column with a name that a column may have; {EXPECTED_NAMES}")
    schema = _schema_of_texts(file, time) if file.is_text else _schema_of_columns(file, time)
    columns = _nested_in(file) if file.is_text else {name: str(kind) for name, kind in columns_of(file).items()}
    columns |= {name: f"named {name!r}, as no column may be" for name in names if not can_be_named(name)}
    if time is not None and time in columns and time not in schema:
        raise DataError(
            f"{file.path}: the column {time!r} is {columns[time]} and cannot be the time; expected {FORMATS}"
        )
    if time is not None and time not in schema:
        raise DataError(f"{file.path}: has no column {time!r}; it has: {', '.join(schema.names)}")
    if time is not None and not _can_be_time(schema[time]):
        raise DataError(
            f"{file.path}: the column {time!r} is {schema[time]} and cannot be the time; expected integers or times as "
            f"{FORMATS}"
        )
    found = Inspection(str(path), file.kind, schema, time or _time_column(schema))
    found.read = str(file.path) if others else ""
    found.left_out = {name: kind for name, kind in columns.items() if name not in schema}
    _read(file, found, options)
    return found


def _read(file: DataFile, found: Inspection, options: TimeOptions) -> None:
    """Read it as the source would."""
    place, highest = Place(), BEGIN
    span: list[int] = []
    for block in read_blocks(file, Reading(found.schema, options), place):
        found.rows += block.rows.height
        found.bad += len(block.rejects)
        for reject in block.rejects[: EXAMPLES - len(found.examples)]:
            found.examples.append(f"line {reject.line}: {reject.reason}")
        if found.time is None:
            continue
        column = block.rows[found.time]
        found.without_time += column.null_count()
        column = column.drop_nulls()
        times = instants(column)
        if not len(times):
            continue
        if highest == BEGIN:
            highest = int(times[0])
        before = np.maximum.accumulate(np.concatenate([[highest], times]))
        found.disorder = max(found.disorder, int((before[:-1] - times).max()))
        highest = int(before[-1])
        span = [*span, int(times.min()), int(times.max())]
        span = [min(span), max(span)]
    if span and found.time is not None:
        found.first, found.last = (_moment(at, found.schema[found.time]) for at in span)
    found.units = dict(place.units)


def _moment(at: int, kind: Type) -> Any:
    """A time of a column, as a person reads it, as far as there are years for it."""
    if kind is not Type.TIMESTAMP:
        return at
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=at)
    except OverflowError:
        return f"{at:,} microseconds since 1970"


def _names_of(file: DataFile) -> list[str]:
    """The names of the columns, those that no column of a network may have too."""
    if not file.is_text:
        return list(columns_of(file))
    try:
        if file.kind != CSV:
            return keys_of(file)
        with file.open() as stream:
            header = read_header(stream, str(file.path))
    except OSError as fault:
        raise _unreadable(file, fault) from None
    assert header is not None
    return list(header.names)


def _unreadable(file: DataFile, fault: OSError) -> DataError:
    return DataError(f"{file.path}: cannot be read as {file.kind}: {fault.strerror or fault}")


def _schema_of_columns(file: DataFile, time: str | None) -> Schema:
    columns = {name: kind for name, kind in columns_of(file).items() if can_be_named(name)}
    first = next(row_blocks(file, tuple(columns), size=_FIRST_ROWS), pl.DataFrame(schema=dict(columns)))
    fields = []
    for name, kind in columns.items():
        if kind.is_nested() or kind in (pl.Binary, pl.Time, pl.Duration, pl.Object):
            continue
        fits = [known for known in Type if known.polars == kind]
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            fits = [Type.TIMESTAMP]
        elif kind.is_integer() and not fits:
            fits = [Type.INT64]
        elif kind.is_numeric() and not fits:
            fits = [Type.FLOAT64]
        if _are_times(first[name], is_named=name == time or _is_time(name)):
            fits = [Type.TIMESTAMP]
        fields.append(Field(name, fits[0] if fits else Type.STRING))
    if not fields:
        raise DataError(f"{file.path}: has no columns of numbers, texts, bools or times")
    return Schema(tuple(fields))


def _in_quotes(text: str) -> str:
    """A text as Python writes it."""
    return json.dumps(text, ensure_ascii=False)


def _are_times(values: pl.Series, *, is_named: bool) -> bool:
    """Whether texts are written as times, or in a column that is named as a time floats, or numbers since 1970."""
    values = values.drop_nulls()
    if not len(values) or values.dtype.is_nested():
        return False
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = values.cast(pl.String)
        dates = texts.filter(texts.str.contains(rf"^\s*{_DATE}"))
        return int(parse_times(dates).is_not_null().sum()) >= len(texts) * (1 - MOST_BAD)
    if not is_named or not values.dtype.is_numeric():
        return False
    largest = values.abs().max()
    return values.dtype.is_float() or (isinstance(largest, int) and largest >= _EPOCH_FROM)


def _schema_of_texts(file: DataFile, time: str | None) -> Schema:
    """Of each column the first type that nearly all its texts are written in."""
    given: Counter[str] = Counter()
    fits: dict[str, Counter[Type]] = {}
    largest: dict[str, float] = {}
    for texts in _texts(file):
        for column in texts.get_columns():
            filled = column.drop_nulls().str.strip_chars()
            filled = filled.filter(filled != "")
            given[column.name] += len(filled)
            counts = fits.setdefault(column.name, Counter())
            whole = filled.cast(pl.Int64, strict=False)
            is_plain = ~filled.str.contains(r"^[+-]?0\d")
            counts[Type.BOOL] += int(filled.str.to_lowercase().is_in(["true", "false"]).sum())
            counts[Type.INT64] += int((whole.is_not_null() & is_plain).sum())
            counts[Type.FLOAT64] += int((filled.cast(pl.Float64, strict=False).is_not_null() & is_plain).sum())
            dates = filled.filter(filled.str.contains(f"^{_DATE}"))
            counts[Type.TIMESTAMP] += int(parse_times(dates).is_not_null().sum())
            if unit_of(filled):
                largest[column.name] = max(largest.get(column.name, 0.0), float(whole.abs().max() or 0))  # type: ignore[arg-type]
    fields = []
    for name, counts in fits.items():
        enough = given[name] * (1 - MOST_BAD)
        kind = next((kind for kind, count in counts.items() if given[name] and count >= enough), Type.STRING)
        if (name == time or _is_time(name)) and counts[Type.TIMESTAMP] + counts[Type.FLOAT64] >= enough:
            is_epoch = largest.get(name, 0) >= _EPOCH_FROM or kind is Type.FLOAT64 or counts[Type.TIMESTAMP] > 0
            kind = Type.TIMESTAMP if is_epoch else kind
        fields.append(Field(name, kind))
    if not fields:
        raise DataError(f"{file.path}: has no rows; expected some, to see what is in them")
    return Schema(tuple(fields))


def _texts(file: DataFile) -> Iterator[pl.DataFrame]:
    """All columns as texts, block by block."""
    try:
        yield from _opened_texts(file)
    except OSError as fault:
        raise _unreadable(file, fault) from None


def _opened_texts(file: DataFile) -> Iterator[pl.DataFrame]:
    with file.open() as stream:
        if file.kind == CSV:
            header = read_header(stream, str(file.path))
            assert header is not None
            types: dict[str, pl.DataType] = {name: pl.String() for name in header.names if can_be_named(name)}
            for records, _, _, _ in record_blocks(stream, header):
                rows = read_records(records, header, types, lossy=True)
                if rows is not None:
                    yield rows
            return
        names = tuple(filter(can_be_named, keys_of(file)))
        for texts, _ in text_blocks(stream, names):
            yield texts.rows


def keys_of(file: DataFile) -> list[str]:
    """The names in the first objects of JSON lines, in the order in which they come; not those of nested values."""
    names, _, is_array = _names_in(file)
    if not names:
        hint = ", as jq -c '.[]' makes of an array" if is_array else ""
        raise DataError(f"{file.path}: has no JSON objects in its first 1,000 lines; expected one a line{hint}")
    return list(names)


def _nested_in(file: DataFile) -> dict[str, str]:
    """The names in the first objects of JSON lines that only have nested values, and what those are."""
    if file.kind == CSV:
        return {}
    names, nested, _ = _names_in(file)
    return {name: f"{kind}, which a string holds as JSON" for name, kind in nested.items() if name not in names}


def _names_in(file: DataFile) -> tuple[dict[str, None], dict[str, str], bool]:
    """The names of plain and of nested values in the first objects, and whether the file begins as an array."""
    names: dict[str, None] = {}
    nested: dict[str, str] = {}
    is_array = False
    with file.open() as stream:
        for number in range(1000):
            line = stream.readline(LONGEST_LINE)
            is_array = is_array or (not number and line.lstrip().startswith(b"["))
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                texts = {name: one for name, one in value.items() if is_text(name)}
                names |= dict.fromkeys(name for name, one in texts.items() if not isinstance(one, dict | list))
                nested |= {n: _NESTED[type(v)] for n, v in texts.items() if isinstance(v, dict | list)}
    return names, nested, is_array


_NESTED = {dict: "an object", list: "a list"}


def _time_column(schema: Schema) -> str | None:
    """The column that looks most like a time: by its name, else by its type."""
    can = {column.name: column.type for column in schema if _can_be_time(column.type)}
    for known in TIME_NAMES:
        for name in can:
            if name.lower() == known:
                return name
    return next((name for name, kind in can.items() if kind is Type.TIMESTAMP or _is_time(name)), None)


def _can_be_time(kind: Type) -> bool:
    return kind.is_integer or kind is Type.TIMESTAMP


def _is_time(name: str) -> bool:
    """Whether a name is that of a time.

    >>> _is_time("pickup_time"), _is_time("lat")
    (True, False)
    """
    words = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return name.lower() in TIME_NAMES or bool({"time", "timestamp", "ts", "datetime", "date"} & set(words))
