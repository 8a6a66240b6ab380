"""A level as a step of Spark: a `transformWithStateInPandas` whose groups are the slots (decision 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, StructField, StructType

from arterial.engine.spark.errors import errors_for_the_driver
from arterial.engine.spark.packed_work import ROW_SCHEMA, PackedWork

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

# As an object: for a text, each task would ask Spark to parse it.
_INDEX = StructType([StructField("packed", BinaryType())])


class LevelProcessor(StatefulProcessor):
    """Runs one level for the slots that Spark gives it, once a step and slot."""

    def __init__(self, work: PackedWork, level: int) -> None:
        self._work, self._level = work, level

    def init(self, handle: Any) -> None:
        """Ask Spark for the slot's state."""
        self._store = handle.getValueState("index", _INDEX)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Run the level on everything that was sent to the slot, and send on what it gave."""
        import pandas as pd

        from arterial.engine.spark.task import run_slot

        with errors_for_the_driver():
            arrived = [packed for frame in rows for packed in frame["packed"]]
            sent = run_slot(self._work, self._level, int(key[0]), arrived, self._store)
            yield pd.DataFrame({"slot": [to for to, _ in sent], "packed": [packed for _, packed in sent]})

    def close(self) -> None:
        """Nothing to close."""


def add_levels(rows: DataFrame, work: PackedWork, levels: int) -> DataFrame:
    """The rows of the sources, sent through all levels."""
    for level in range(levels):
        rows = rows.groupBy("slot").transformWithStateInPandas(
            statefulProcessor=LevelProcessor(work, level),
            outputStructType=ROW_SCHEMA,
            outputMode="Append",
            timeMode="None",
        )
    return rows
