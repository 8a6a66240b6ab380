"""Any streaming DataFrame of Spark as a source: files, Kafka rows, rate.

Its rows are packed into trains where Spark reads them and sent to slot 0, where the network's source box puts them in
order. Within one step the order of arrival is that of Spark's partitions. Which rows come in which step is logged by
Spark's own source, so a replay gives the same answers; another run over the same data may cut it into other steps, and
then tuples of other partitions come first: what is late, and the order of ties, can differ. Give a `disorder` that
covers the distance between partitions, and no tuple is late.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from arterial.engine.plan.compile import raw_port
from arterial.engine.spark.errors import errors_for_the_driver
from arterial.engine.spark.packed_work import ROW_SCHEMA, PackedWork
from arterial.engine.spark.task import record_batch
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.rows import to_rows
from arterial.engine.transport.shipments import Shipment
from arterial.errors import RunError
from arterial.figures.steering import Steering
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, Train

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FrameSource:
    """A streaming DataFrame with (at least) the columns of the source box."""

    frame: DataFrame

    def rows(self, source: str, schema: Schema, work: PackedWork) -> DataFrame:
        """The frame's rows as shipments for slot 0."""
        if not self.frame.isStreaming:
            raise RunError(f"source {source!r}: the DataFrame is not a stream; read it with spark.readStream")
        missing = [name for name in schema.names if name not in self.frame.columns]
        if missing:
            raise RunError(
                f"source {source!r}: the DataFrame has no column {', '.join(missing)}; it has: "
                f"{', '.join(self.frame.columns)}"
            )

        def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with errors_for_the_driver():
                yield from _pack(batches, source, schema, work)

        return self.frame.select(*schema.names).mapInArrow(packed, ROW_SCHEMA)


def _pack(
    batches: Iterator[pa.RecordBatch], source: str, schema: Schema, packed_work: PackedWork
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    step = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    work = packed_work.load()
    channel = next(c for c in work.plan.head.departures if c.begin == raw_port(source))
    for number, batch in enumerate(batches):
        if batch.num_rows == 0:
            continue
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        tuples = frame.cast(pl.Schema(schema.polars()))
        sender = (context.partitionId() << 20) + number
        parcel = Parcel(channel.number, sender, 0, Train(tuples, BEGIN))
        shipment = Shipment(step, 0, time.time(), (parcel,), Steering(work.version))
        rows = to_rows(shipment, sender, work.channels, work.memory)
        yield record_batch([(work.keys[0], row) for row in rows])
