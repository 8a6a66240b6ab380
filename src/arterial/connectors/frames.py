"""Frames and lists in memory as tuples of a source: Polars, pandas, Arrow, all that has Arrow's PyCapsule interface.

Their columns are checked against the source's schema, as those of files are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from arterial.connectors.memory_source import ArrivingSource, MemorySource
from arterial.connectors.times import FORMATS, expected_number, parse_times, unit_of
from arterial.connectors.values import is_number
from arterial.errors import DataError, near
from arterial.network.box import SIGN, Stream
from arterial.network.schema import Schema, Type, within_years
from arterial.network.train import BEGIN, END, FURTHEST, Train

_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_WRITTEN_TIMES = (pl.Date, *_TEXTS)

TRAIN_SIZE = 500_000
"""About so many tuples of a frame make a train."""


def is_frame(value: object) -> bool:
    """Whether a value can be read as tuples: a frame, or a list of mappings."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame) or hasattr(value, "__dataframe__"):
        return True
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return True
    return isinstance(value, list | tuple) and all(isinstance(row, Mapping) for row in value)


def frame_source(value: Any, name: str, stream: Stream, size: int = TRAIN_SIZE) -> MemorySource:
    """A frame as a source. If it is not in the order of its time, the network's source box puts it in order."""
    tuples = frame_from(value, stream.schema, f"source {name!r}")
    times = tuples[stream.time].to_physical().cast(pl.Int64)
    if times.null_count() or not times.is_sorted() or not _are_usual(tuples, times, stream):
        starts = range(0, max(tuples.height, 1), size)
        return ArrivingSource(Train(tuples.slice(start, size), BEGIN) for start in starts)
    return MemorySource(_ordered_trains(tuples, times.to_numpy(), size))


def _are_usual(tuples: pl.DataFrame, times: pl.Series, stream: Stream) -> bool:
    """Whether no tuple has a time or a sign that the network's source box lets leave by `late`."""
    far = bool(((times > FURTHEST) | (times < -FURTHEST)).any())  # the least integer has no absolute value
    return not far and not (stream.signed and not tuples[SIGN].is_in([1, -1]).fill_null(False).all())


def frame_from(value: Any, schema: Schema, where: str) -> pl.DataFrame:
    """The columns of a schema out of a frame, or of tuples as mappings; raises unless they fit."""
    if isinstance(value, list | tuple):
        return _from_tuples(value, schema, where)
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    try:
        frame = value if isinstance(value, pl.DataFrame) else pl.DataFrame(value)
    except Exception as trouble:
        raise DataError(f"{where}: a {type(value).__name__} cannot be read as a frame: {trouble}") from None
    check_columns(frame.schema, schema, where)
    try:
        found = frame.select(pl.col(column.name).cast(column.type.polars) for column in schema)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as trouble:
        raise DataError(f"{where}: {_first_line(trouble)}; expected {schema}") from None
    for name in (column.name for column in schema if column.type is Type.TIMESTAMP):
        if within_years(found[name]).null_count() > found[name].null_count():
            raise DataError(f"{where}: the column {name!r} has a time that is not of the years 1 to 9999")
    return found


def check_columns(found: Mapping[str, pl.DataType], schema: Schema, where: str, *, reads_times: bool = False) -> None:
    """Raise unless these columns have all that the schema asks for, with types that fit.

    With `reads_times`, numbers, texts and dates fit a timestamp: whoever reads them judges each value.
    """
    for column in schema:
        if column.name not in found:
            raise DataError(
                f"{where}: the column {column.name!r} is missing; it has: {', '.join(found)}{near(column.name, found)}"
            )
        kind, wanted = found[column.name], column.type
        may_be_time = wanted is Type.TIMESTAMP and (kind.is_numeric() or kind in _WRITTEN_TIMES)
        if not _fits(kind, wanted) and not (reads_times and may_be_time):
            raise DataError(f"{where}: the column {column.name!r} is {kind}; expected {wanted}")


def _fits(kind: pl.DataType, wanted: Type) -> bool:
    if kind == pl.Null:
        return True
    if wanted.is_integer:
        return kind.is_integer()
    if wanted is Type.FLOAT64:
        return kind.is_numeric()
    if wanted is Type.STRING:
        return kind in _TEXTS
    return kind == pl.Datetime if wanted is Type.TIMESTAMP else kind == wanted.polars


def _from_tuples(tuples: Sequence[Mapping[str, Any]], schema: Schema, where: str) -> pl.DataFrame:
    names = schema.names
    known = set(names)
    for number, values in enumerate(tuples):
        if unknown := [name for name in values if name not in known]:
            raise DataError(
                f"{where}: tuple {number} has an unknown column {unknown[0]!r}; expected: {', '.join(names)}"
                + near(str(unknown[0]), names)
            )
    columns = {column.name: [values.get(column.name) for values in tuples] for column in schema}
    for column in schema:
        if column.type is Type.TIMESTAMP:
            columns[column.name] = _instants(column.name, columns[column.name], where)
    try:
        return pl.DataFrame(list(zip(*columns.values(), strict=True)), schema=schema.polars(), orient="row")
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as trouble:
        raise DataError(f"{where}: {_first_line(trouble)}; expected {schema}") from None


def _instants(name: str, values: list[Any], where: str) -> list[Any]:
    """Times as datetimes; texts, dates and numbers are read as those of files are."""
    if all(value is None or isinstance(value, datetime) for value in values):
        return values
    texts = [
        value.isoformat() if isinstance(value, date) else value if value is None else str(value) for value in values
    ]
    times = within_years(parse_times(pl.Series(texts, dtype=pl.String)))
    for number, (value, time) in enumerate(zip(values, times, strict=True)):
        if value is not None and time is None:
            unit = unit_of(pl.Series(texts, dtype=pl.String)) if is_number(value) else None
            expected = expected_number(unit) if unit else f"a time as {FORMATS}"
            raise DataError(f"{where}: tuple {number}: {name} is {value!r}, expected {expected}")
    return times.to_list()


def _ordered_trains(tuples: pl.DataFrame, times: Any, size: int) -> list[Train]:
    """Trains of about so many tuples; an instant is never cut."""
    ends = [*(int(np.searchsorted(times, times[end])) for end in range(size, len(times), size)), len(times)]
    trains, begin = [], 0
    for end in dict.fromkeys(ends):
        if end > begin or end == len(times):
            through = END if end == len(times) else int(times[end]) - 1
            trains.append(Train(tuples.slice(begin, end - begin), through))
            begin = end
    return trains


def _first_line(trouble: BaseException) -> str:
    return (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
