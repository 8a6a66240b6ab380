"""Any sink of Spark: each step's tuples as a DataFrame, for a function that writes them somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from arterial.connectors.sink import Delivery, Sink
from arterial.engine.transport.rows import FRAME, unpack_report
from arterial.engine.transport.tuples import arrow_schema, unpack_tuples
from arterial.network.schema import Schema, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SPARK = {
    Type.INT8: "tinyint",
    Type.INT16: "smallint",
    Type.INT32: "int",
    Type.INT64: "bigint",
    Type.FLOAT64: "double",
    Type.BOOL: "boolean",
    Type.STRING: "string",
    Type.TIMESTAMP: "timestamp_ntz",
}


class FrameSink(Sink):
    """Calls `write(frame, step)` on the driver for each step, with the tuples of the step as a Spark DataFrame.

    A step that is run again after a failure comes with the same number and the same tuples: a function that replaces
    what it wrote for that number makes it exactly once.
    """

    to_frame: ClassVar[bool] = True

    def __init__(self, write: Callable[[DataFrame, int], None]) -> None:
        self.function: Callable[[DataFrame, int], None] | None = write

    def write(self, delivery: Delivery) -> None:
        """Tuples go to Spark, not here."""
        raise AssertionError("a frame sink is given whole frames")

    def __getstate__(self) -> dict[str, Any]:
        return {"function": None}


def frame_of(rows: DataFrame, output: str, schema: Schema) -> DataFrame:
    """The tuples of an output among the rows of a step."""

    def tuples(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packed in batch.column(1):
                said, payload = unpack_report(packed.as_py())
                if said["frame"] == output and len(payload):
                    table = unpack_tuples(payload, schema).to_arrow()
                    yield from table.cast(
                        pa.schema([(f.name, _plain(f.type)) for f in arrow_schema(schema)])
                    ).to_batches()

    wanted = ", ".join(f"`{field.name}` {_SPARK[field.type]}" for field in schema)
    return rows.filter(f"substring(packed, 1, 4) = X'{FRAME.hex()}'").mapInArrow(tuples, wanted)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind
