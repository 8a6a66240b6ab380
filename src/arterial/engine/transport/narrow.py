"""Narrow columns for the way: whole numbers as their distance from the least, in as few bytes as the train needs.

What a train costs on its way through Spark is its bytes, which are copied a dozen times. Within one train times, keys
and counts span little of their type, so most columns travel in one or two bytes a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from arterial.network.schema import Schema, Type

SHORT = 512
"""A train of fewer tuples is not worth the trouble."""

Hint = tuple[str, int, int]
"""A column that was made narrow: its name, its least value, and how many bytes a value takes now."""

_NARROW: dict[int, pl.DataType] = {1: pl.UInt8(), 2: pl.UInt16(), 4: pl.UInt32()}
_BYTES = {Type.INT16: 2, Type.INT32: 4, Type.INT64: 8, Type.TIMESTAMP: 8}


def narrow(tuples: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, list[Hint]]:
    """The tuples with narrow columns, and what must be known to make them wide again."""
    if tuples.height < SHORT:
        return tuples, []
    hints: list[Hint] = []
    columns = []
    for field in schema:
        if field.type not in _BYTES:
            continue
        values = tuples[field.name].to_physical()
        least, most = values.min(), values.max()
        if not isinstance(least, int) or not isinstance(most, int):
            continue
        size = next((size for size in _NARROW if most - least < 256**size and size < _BYTES[field.type]), None)
        if size is not None:
            columns.append((values - least).cast(_NARROW[size]).alias(field.name))
            hints.append((field.name, least, size))
    return tuples.with_columns(columns) if columns else tuples, hints


def widen(tuples: pl.DataFrame, schema: Schema, hints: Sequence[Hint]) -> pl.DataFrame:
    """The tuples as they were."""
    if not hints:
        return tuples
    return tuples.with_columns(_wide(tuples[name], schema[name], least) for name, least, _ in hints)


def narrow_types(hints: Sequence[Hint]) -> dict[str, pl.DataType]:
    """The types of the narrow columns."""
    return {name: _NARROW[size] for name, _, size in hints}


def _wide(values: pl.Series, kind: Type, least: int) -> pl.Series:
    whole: Any = pl.Int64() if kind is Type.TIMESTAMP else kind.polars
    return (values.cast(whole) + pl.Series([least], dtype=whole)).cast(kind.polars)
