"""Tuples as bytes: an Arrow record batch without its schema, which both ends know. Decoding copies nothing.

What a train costs on its way through Spark is its bytes, which are copied a dozen times. Within one train times, keys
and counts span little of their type, so whole numbers can travel as their distance from the least (`narrow`), most of
them in one or two bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from arterial.network.schema import Schema, Type

SHORT = 512
"""A train of fewer tuples is not worth narrowing."""

Hint = tuple[str, int, int]
"""A column that was made narrow: its name, its least value, and how many bytes a value takes now."""

_NARROW: dict[int, pl.DataType] = {1: pl.UInt8(), 2: pl.UInt16(), 4: pl.UInt32()}
_BYTES = {Type.INT16: 2, Type.INT32: 4, Type.INT64: 8, Type.TIMESTAMP: 8}
_schemas: dict[object, pa.Schema] = {}


def pack_tuples(tuples: pl.DataFrame, schema: Schema, hints: Sequence[Hint] = ()) -> pa.Buffer:
    """Tuples as an Arrow record batch without schema or compression."""
    table = tuples.to_arrow(compat_level=_compatibility(schema)).combine_chunks()
    wanted = arrow_schema(schema, hints)
    if table.schema != wanted:
        table = table.select(wanted.names).cast(wanted)
    return table.to_batches()[0].serialize()


def unpack_tuples(packed: pa.Buffer, schema: Schema, hints: Sequence[Hint] = ()) -> pl.DataFrame:
    """The tuples that were packed, without copying them."""
    if len(packed) == 0:
        return schema.empty()
    frame = pl.from_arrow(pa.ipc.read_record_batch(packed, arrow_schema(schema, hints)))
    assert isinstance(frame, pl.DataFrame)
    return frame


def arrow_schema(schema: Schema, hints: Sequence[Hint] = ()) -> pa.Schema:
    """The Arrow types of the columns on their way."""
    known = (schema, tuple((name, size) for name, _, size in hints))
    if known not in _schemas:
        narrowed = {name: _NARROW[size] for name, _, size in hints}
        empty = schema.empty().cast(pl.Schema({**schema.polars(), **narrowed}))
        _schemas[known] = empty.to_arrow(compat_level=_compatibility(schema)).schema
    return _schemas[known]


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
    """The tuples as they were before `narrow`."""
    if not hints:
        return tuples
    return tuples.with_columns(_wide(tuples[name], schema[name], least) for name, least, _ in hints)


def _wide(values: pl.Series, kind: Type, least: int) -> pl.Series:
    whole: Any = pl.Int64() if kind is Type.TIMESTAMP else kind.polars
    return (values.cast(whole) + pl.Series([least], dtype=whole)).cast(kind.polars)


def _compatibility(schema: Schema) -> pl.CompatLevel:
    # A view of a text drags its whole buffer along, however few tuples a shard gets: send plain text instead.
    plain = any(field.type is Type.STRING for field in schema)
    return pl.CompatLevel.oldest() if plain else pl.CompatLevel.newest()
