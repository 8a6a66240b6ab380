"""Columns as the types of a schema: out of texts, or out of the types of a Parquet or Arrow file.

A text that is not a value of its type gives null; who reads lines sets those aside with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from arterial.connectors.rejects import Reject
from arterial.connectors.times import (
    FORMATS,
    expected_number,
    parse_times,
    times_of_numbers,
    unit_of,
    why_no_time,
)
from arterial.errors import DataError
from arterial.network.schema import Field, Schema, Type, within_years

NOTHING_FITS_AFTER = 100_000
"""If the first so many lines do not fit, none will."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True)
class TimeOptions:
    """How timestamps are read: the unit of numbers, by column or for all, and the zone of times without one."""

    unit: str | None = None
    timezone: str | None = None
    recognised: Mapping[str, str] | None = None
    """The units that were recognised in a file, by column."""

    def unit_of(self, column: str) -> str | None:
        """The unit of a column's numbers."""
        return self.unit or (self.recognised or {}).get(column)

    def reading(self, column: str) -> dict[str, Any]:
        """How the numbers of a column are read: their unit, and whether that was recognised only."""
        return {"unit": self.unit_of(column), "recognised": not self.unit}

    def expected(self, column: Field, value: object) -> str:
        """What should stand in a column instead of a value that does not fit."""
        unit = (self.recognised or {}).get(column.name)
        if column.type is not Type.TIMESTAMP:
            return str(column.type)
        if is_number(value):
            return f"{expected_number(unit)}; time_unit says otherwise" if unit and not self.unit else "timestamp"
        return why_no_time(str(value), self.timezone) or "timestamp"


def recognised(rows: pl.DataFrame, schema: Schema, options: TimeOptions) -> TimeOptions:
    """The options with the units of the numbers that stand in columns of timestamps; the first numbers decide."""
    units = dict(options.recognised or {})
    for column in schema:
        known = column.type is not Type.TIMESTAMP or options.unit or column.name in units
        values = rows[column.name]
        values = values.cast(pl.String) if values.dtype in (pl.Categorical, pl.Enum) else values
        if not known and (values.dtype == pl.String or values.dtype.is_numeric()) and (unit := unit_of(values)):
            units[column.name] = unit
    return replace(options, recognised=units)


def is_number(value: object) -> bool:
    """Whether a value is a finite number, or a text of one."""
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def from_texts(texts: pl.DataFrame, schema: Schema, options: TimeOptions) -> pl.DataFrame:
    """Columns of texts as the columns of a schema; columns that are of their type already stay."""
    return pl.DataFrame({column.name: _from_texts(texts[column.name], column.type, options) for column in schema})


def wrong_values(texts: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Of each column which texts are not null, but no values."""
    return pl.DataFrame({name: texts[name].is_not_null() & values[name].is_null() for name in values.columns})


def from_columns(rows: pl.DataFrame, schema: Schema, options: TimeOptions) -> pl.DataFrame:
    """Typed columns, which `frames.check_columns` found to fit, as those of a schema; null where one is too large."""
    return pl.DataFrame({column.name: _from_column(rows[column.name], column.type, options) for column in schema})


def _from_texts(texts: pl.Series, kind: Type, options: TimeOptions) -> pl.Series:
    if texts.dtype != pl.String or kind is Type.STRING:
        return texts
    if kind is Type.TIMESTAMP:
        return within_years(parse_times(texts, timezone=options.timezone, **options.reading(texts.name)))
    bare = texts.str.strip_chars()
    if kind is Type.BOOL:
        lower = bare.str.to_lowercase()
        yes, no = lower.is_in(_TRUE), lower.is_in(_FALSE)
        return yes.set(~(yes | no).fill_null(False), None).rename(texts.name)
    return bare.cast(kind.polars, strict=False)


def _from_column(values: pl.Series, kind: Type, options: TimeOptions) -> pl.Series:
    found = _as_column(values, kind, options)
    return within_years(found) if kind is Type.TIMESTAMP else found


def _as_column(values: pl.Series, kind: Type, options: TimeOptions) -> pl.Series:
    if kind is Type.TIMESTAMP and values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
        exact = values if values.dtype.is_integer() else None
        return times_of_numbers(numbers, exact=exact, **options.reading(values.name))
    if kind is Type.TIMESTAMP and values.dtype in (pl.String, pl.Categorical, pl.Enum):
        return parse_times(values.cast(pl.String), timezone=options.timezone, **options.reading(values.name))
    if kind is Type.TIMESTAMP and values.dtype == pl.Date:
        values = values.cast(pl.Datetime("us"), strict=False)
    if kind is Type.TIMESTAMP and isinstance(values.dtype, pl.Datetime):
        if values.dtype.time_zone:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        elif options.timezone not in (None, "UTC"):
            here = values.dt.replace_time_zone(options.timezone, ambiguous="earliest", non_existent="null")
            values = here.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return values.cast(kind.polars, strict=False)


def instant_of(text: str | int, column: str, kind: Type, options: TimeOptions, what: str) -> int:
    """A time as a user writes it, as a number of the time column's units; raises `DataError` if it is none.

    >>> instant_of("1970-01-01T00:01", "at", Type.TIMESTAMP, TimeOptions(), "until")
    60000000
    """
    if kind is Type.TIMESTAMP:
        times = parse_times(pl.Series([str(text)]), unit=options.unit_of(column), timezone=options.timezone)
        if times.null_count() == 0:
            return int(times.to_physical()[0])
    elif isinstance(text, int) or str(text).strip().lstrip("-").isdigit():
        return int(text)
    raise DataError(f"{what} is {text!r}; expected a time as in the column {column!r}")


def nothing_fits(where: str, lines: int, schema: Schema, examples: Collection[Reject]) -> str:
    """What a user reads of a source none of whose lines fits; it ends with what to correct, as far as that is known."""
    first = "\n".join(f"  {reject.file}:{reject.line}: {reject.reason}" for reject in examples)
    columns = ", ".join(f"{column.name} {column.type}" for column in schema)
    return (
        f"{where}: none of the {lines:,} lines read fits its columns ({columns}):\n{first}\n"
        f"Times of a timestamp column may be: {FORMATS}.\nCorrect the source's schema"
    )
