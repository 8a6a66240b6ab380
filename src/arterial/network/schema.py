"""Schemas: the named, typed columns of a stream or a relation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

import polars as pl

from arterial.errors import NetworkError


class Type(StrEnum):
    """The type of a column. Narrow integers save space on an arc; arithmetic on any of them is 64 bits wide."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    TIMESTAMP = "timestamp"  # microseconds since 1970, UTC

    @property
    def is_integer(self) -> bool:
        """Whether it is one of the integer types."""
        return self in _INTEGERS

    @property
    def is_number(self) -> bool:
        """Whether one can calculate with it."""
        return self.is_integer or self is Type.FLOAT64

    @property
    def polars(self) -> pl.DataType:
        """The polars type of such a column in a train."""
        return _POLARS[self]


_INTEGERS = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
_POLARS: dict[Type, pl.DataType] = {
    Type.INT8: pl.Int8(),
    Type.INT16: pl.Int16(),
    Type.INT32: pl.Int32(),
    Type.INT64: pl.Int64(),
    Type.FLOAT64: pl.Float64(),
    Type.BOOL: pl.Boolean(),
    Type.STRING: pl.String(),
    Type.TIMESTAMP: pl.Datetime("us"),
}
_PYTHON = {int: Type.INT64, float: Type.FLOAT64, bool: Type.BOOL, str: Type.STRING, datetime: Type.TIMESTAMP}
_SHORTHAND = {
    "int": Type.INT64,
    "float": Type.FLOAT64,
    "str": Type.STRING,
    "text": Type.STRING,
    "datetime": Type.TIMESTAMP,
}


@dataclass(frozen=True)
class Field:
    """A column: its name and its type. Every column may hold nulls."""

    name: str
    type: Type


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, in order.

    >>> schema = Schema.of({"vehicle": int, "speed": "float64"})
    >>> schema["speed"]
    <Type.FLOAT64: 'float64'>
    >>> schema.names
    ('vehicle', 'speed')
    """

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, columns: SchemaLike) -> Schema:
        """A schema from a mapping of names to types, a class with annotations, or a schema."""
        if isinstance(columns, Schema):
            return columns
        if not isinstance(columns, type | Mapping):
            raise NetworkError(f"expected a schema: a mapping of names to types or a class, got {columns!r}")
        if isinstance(columns, type):
            columns = {name: _annotated(kind) for name, kind in columns.__annotations__.items()}
        schema = cls(tuple(Field(str(name), _type(name, kind)) for name, kind in columns.items()))
        if not schema.fields:
            raise NetworkError("a schema needs at least one column")
        schema.check_names()
        return schema

    def check_names(self) -> None:
        """Raise unless columns of a network may have these names."""
        for name in self.names:
            if not can_be_named(name):
                raise NetworkError(f"a column cannot be named {name!r}; {EXPECTED_NAMES}")

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(field.name for field in self.fields)

    def __contains__(self, name: object) -> bool:
        return any(field.name == name for field in self.fields)

    def __getitem__(self, name: str) -> Type:
        for field in self.fields:
            if field.name == name:
                return field.type
        raise KeyError(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __str__(self) -> str:
        return "(" + ", ".join(f"{field.name} {field.type}" for field in self.fields) + ")"

    def empty(self) -> pl.DataFrame:
        """A frame of this schema without rows."""
        return _empty(self.fields).clone()

    def polars(self) -> dict[str, pl.DataType]:
        """The schema as polars has it."""
        return {field.name: field.type.polars for field in self.fields}


EXPECTED_NAMES = "names are not empty, do not begin with @, and are not * or a text from ^ to $"


def can_be_named(name: str) -> bool:
    """Whether a column of a network may have this name: boxes name columns of their own with @, and polars takes `*`
    and what stands between ^ and $ for several columns."""
    return bool(name) and name != "*" and not name.startswith("@") and not (name[0] == "^" and name[-1] == "$")


@lru_cache(maxsize=1024)
def _empty(fields: tuple[Field, ...]) -> pl.DataFrame:
    """Boxes without input give one with every train, and to make one costs as much as a small step."""
    return pl.DataFrame(schema=Schema(fields).polars())


SchemaLike = Schema | Mapping[str, Any] | type


def _type(name: str, kind: object) -> Type:
    if isinstance(kind, type) and kind in _PYTHON:
        return _PYTHON[kind]
    if isinstance(kind, str):
        try:
            return _SHORTHAND.get(kind) or Type(kind)
        except ValueError:
            pass
    raise NetworkError(f"column {name!r} has the unknown type {kind!r}; expected one of {', '.join(Type)}")


def _annotated(kind: object) -> object:
    # Under `from __future__ import annotations` an annotation is its text.
    return {"bool": bool}.get(kind, kind) if isinstance(kind, str) else kind


FIRST_MICROSECOND, LAST_MICROSECOND = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The beginning of the year 1 and the end of 9999: no other times have a text, or are known to Python."""


def within_years(times: pl.Series) -> pl.Series:
    """Timestamps, null where one is not of the years 1 to 9999."""
    counts = times.to_physical()
    low, high = counts.min(), counts.max()
    if low is None or (low >= FIRST_MICROSECOND and high <= LAST_MICROSECOND):  # type: ignore[operator]
        return times
    return times.set(~counts.is_between(FIRST_MICROSECOND, LAST_MICROSECOND).fill_null(True), None)
