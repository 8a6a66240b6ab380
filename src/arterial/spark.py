"""The connection points of a run as DataFrames of Spark: `format("arterial")`, for notebooks and other jobs.

    spark.dataSource.register(arterial.spark.Arterial)
    spark.read.format("arterial").option("point", "kept").load("out")
    spark.readStream.format("arterial").option("point", "kept").load("out")

It reads files that the run writes anyway, in this or another process, so the run is not touched.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from arterial.connectors.points.contents import POINTS, Point
from arterial.connectors.points.source import PointSource, open_point
from arterial.connectors.source import Ask, Part, Progress
from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.errors import RunError, near
from arterial.network.box import SIGN
from arterial.network.schema import Schema, Type
from arterial.network.train import END

if TYPE_CHECKING:
    import pyarrow as pa

PART_TUPLES = 1_000_000
"""About so many tuples are read by one task."""

_OPTIONS = ("point", "state", "key", "since", "upto", "skiplost", "path")
_TYPES: Mapping[Type, DataType] = {
    Type.INT8: ByteType(),
    Type.INT16: ShortType(),
    Type.INT32: IntegerType(),
    Type.INT64: LongType(),
    Type.FLOAT64: DoubleType(),
    Type.BOOL: BooleanType(),
    Type.STRING: StringType(),
    Type.TIMESTAMP: TimestampNTZType(),
}


@dataclass(frozen=True)
class _Wanted:
    """What the options of a reader ask for."""

    point: Point
    source: PointSource
    state: bool
    """Whether only the rows that stand now are wanted."""
    key: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _Wanted:
        given = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(name for name in given if name not in _OPTIONS):
            known = "point, state, key, since, upTo, skipLost"
            raise RunError(
                f'format("arterial"): unknown option {unknown[0]!r}; expected {known}{near(unknown[0], _OPTIONS)}'
            )
        if "path" not in given:
            raise RunError('format("arterial"): which run? Give its output folder or checkpoint: load("out")')
        if ("point" in given) == ("state" in given):
            raise RunError(
                'format("arterial"): give option("point", NAME) for the tuples that a connection point keeps, or '
                'option("state", NAME) for those that stand now'
            )
        name = given.get("point") or given["state"]
        if "/" in name or name in (".", ".."):
            raise RunError(f'format("arterial"): {name!r} is not the name of a connection point')
        folder = (find_checkpoint(Path(given["path"])) / POINTS / name).absolute()
        point = open_point(folder)
        key = tuple(one.strip() for one in given.get("key", "").split(",") if one.strip())
        if missing := [one for one in key if one not in point.schema]:
            raise RunError(f"connection point {name!r} has no column {missing[0]!r}; it has {point.schema}")
        if "state" in given and not point.signed and not key:
            raise RunError(
                f"connection point {name!r}: its tuples are not signed, so which of them stand? Give option("
                '"key", COLUMNS): the last tuple of each key stands'
            )
        source = PointSource(
            folder, _time(given, "since"), _time(given, "upto"), skip_lost=given.get("skiplost", "") == "true"
        )
        bound = replace(source, point=point, columns=point.schema.names)
        return cls(point, bound, "state" in given, key)

    @property
    def schema(self) -> Schema:
        """The columns: what stands has no sign."""
        if not self.state:
            return self.point.schema
        return Schema(tuple(field for field in self.point.schema if not (self.point.signed and field.name == SIGN)))


class Arterial(DataSource):
    """`format("arterial")`: what a connection point of a run keeps, as a batch or as a stream.

    Options: `point` (its name), or `state` with, for tuples without signs, `key`: the rows that stand now. `since` and
    `upTo` are times as in the stream, in its unit (microseconds for timestamps). A stream that falls behind the
    retention fails, unless `skipLost` is `true`.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return "arterial"

    def schema(self) -> StructType:
        """The columns of the connection point."""
        schema = _Wanted.of(self.options).schema
        return StructType([StructField(field.name, _TYPES[field.type]) for field in schema])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads what is there now."""
        return _Batch(_Wanted.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """Reads what is there, then what comes."""
        wanted = _Wanted.of(self.options)
        if wanted.state:
            raise RunError('format("arterial"): what stands is read as a batch; a stream takes option("point", …)')
        return _Stream(wanted)


class _Batch(DataSourceReader):
    """What is there now, in pieces of time, so that tasks share the work."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted = wanted

    def partitions(self) -> list[InputPartition]:
        """A task for each piece; for what stands, one for all."""
        source = self._wanted.source
        complete = source.look().through
        if self._wanted.state:
            return [InputPartition((source.begin().through, complete))]
        return [InputPartition(piece) for piece in _pieces(source, source.begin(), complete)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The tuples of a piece."""
        tuples = _read(self._wanted, *partition.value)
        yield from _batches(_standing(tuples, self._wanted) if self._wanted.state else tuples, self._wanted.schema)


class _Stream(DataSourceStreamReader):
    """History first, then live; an offset is the time through which tuples were read."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted = wanted

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first tuple."""
        return {"through": self._wanted.source.begin().through}

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        """As far as the run has come."""
        source = self._wanted.source
        through = source.look().through
        if source.up_to is not None:
            through = min(through, source.up_to)
        before = source.begin().through if start is None else int(start["through"])
        return {"through": max(before, through)}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        """A task for each piece."""
        before = Progress({"through": start["through"]}, start["through"])
        return [InputPartition(piece) for piece in _pieces(self._wanted.source, before, end["through"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The tuples of a piece."""
        yield from _batches(_read(self._wanted, *partition.value), self._wanted.schema)

    def commit(self, end: Mapping[str, int]) -> None:
        """Nothing to clean up: positions are in the offset."""


def _pieces(source: PointSource, at: Progress, through: int) -> Iterator[tuple[int, int]]:
    """Times from after one through another, of about as many tuples as a task should read."""
    while at.through < through:
        after = source.plan(at, Ask(time.time(), PART_TUPLES, through))
        if after.through <= at.through:
            return
        yield at.through, after.through
        at = after


def _read(wanted: _Wanted, after: int, through: int) -> pl.DataFrame:
    before, last = (Progress({"through": at}, at) for at in (after, through))
    return wanted.source.read(before, last, Part(0, 1))


def _standing(tuples: pl.DataFrame, wanted: _Wanted) -> pl.DataFrame:
    """The rows that stand: those that came and did not go, or the last one of each key."""
    if wanted.point.signed:
        row = [name for name in wanted.schema.names if name != wanted.point.time]
        times = pl.col(wanted.point.time).filter(pl.col(SIGN) > 0).last()
        standing = tuples.group_by(row, maintain_order=True).agg(times, pl.col(SIGN).cast(pl.Int64).sum().alias(SIGN))
        many = standing.filter(pl.col(SIGN) > 0)
        repeated = many.select(pl.all().repeat_by(pl.col(SIGN)).explode()) if many.height else many
        return repeated.select(wanted.schema.names)
    return tuples.unique(list(wanted.key), keep="last", maintain_order=True)


def _batches(tuples: pl.DataFrame, schema: Schema) -> Iterator[pa.RecordBatch]:
    types = {field.name: field.type.polars for field in schema}
    table = tuples.select([pl.col(name).cast(kind) for name, kind in types.items()]).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )
    yield from table.to_batches(max_chunksize=65_536)


def _time(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    try:
        return min(int(given[name]), END)
    except ValueError:
        raise RunError(
            f'format("arterial"): {name} is {given[name]!r}; expected a time of the stream as a whole number'
        ) from None
