"""The sources of a network as one Python data source of Spark; its offset carries positions and control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from arterial.engine.spark.errors import errors_for_the_driver
from arterial.engine.spark.packed_work import ROW_SCHEMA, PackedWork
from arterial.engine.steering.control import read_control
from arterial.storage.fail_point import fail_point

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from arterial.engine.steering.offsets import Offset


def read_sources(spark: SparkSession, work: PackedWork, folder: Path, train_size: int) -> DataFrame:
    """What the head of the plan sends on, of all sources."""
    name = f"arterial_{work.run[:16]}"
    stops = read_control(folder).stop

    class RunSource(DataSource):
        """Made here so that it carries the run with it."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return ROW_SCHEMA

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
            return Reader(work, folder, train_size, stops)

    spark.dataSource.register(RunSource)
    return spark.readStream.format(name).load()


class Reader(DataSourceStreamReader):
    """Plans steps on the driver and reads them in tasks."""

    def __init__(self, work: PackedWork, folder: Path, train_size: int, stops: int) -> None:
        self._work, self._folder, self._train_size, self._stops = work, folder, train_size, stops

    def initialOffset(self) -> Offset:  # noqa: N802
        """Where all sources begin."""
        from arterial.engine.steering.offsets import first_offset

        with errors_for_the_driver():
            return first_offset(self._work.sources(), self._folder)

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802
        """How far the next step goes."""
        from arterial.engine.steering.offsets import next_offset

        with errors_for_the_driver():
            self._work.check_epoch()
            planned = next_offset(self._work.sources(), start, self._folder, self._train_size, self._stops)
            fail_point("step.planned")
            return planned

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """One task for each slot."""
        return [] if start == end else [InputPartition((slot, start, end)) for slot in range(self._work.shards)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run the head in a slot."""
        from arterial.engine.spark.task import Step, record_batch, run_head
        from arterial.engine.steering.offsets import spans_of
        from arterial.figures.steering import Steering

        slot, start, end = partition.value
        with errors_for_the_driver():
            steering = Steering.from_json(end["steering"])
            work = self._work.load(steering.version)
            step = Step(end["step"], slot, end["born"], steering)
            yield record_batch(run_head(work, step, spans_of(start, end), end.get("reached", {})))

    def commit(self, end: Offset) -> None:
        """Nothing to clean up: positions are in the offset."""
