"""A level as a step of Spark: a `transformWithStateInPandas` whose groups are the slots (decision 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from arterial.engine.packing import address, unpack
from arterial.engine.state import SlotState
from arterial.engine.task import Step, errors_for_the_driver, run_step
from arterial.engine.work import ROW_SCHEMA, PackedWork

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# As objects: for a text, each task would ask Spark to parse it.
_CHUNK = StructType([StructField("chunk", StringType())])
_PACKED = StructType([StructField("packed", BinaryType())])


class LevelProcessor(StatefulProcessor):
    """Runs one level for the slots that Spark gives it, once a step and slot."""

    def __init__(self, work: PackedWork, level: int) -> None:
        self._packed_work, self._level = work, level

    def init(self, handle: Any) -> None:
        """Ask Spark for the slot's state."""
        self._store = handle.getMapState("chunks", _CHUNK, _PACKED)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Run the level on everything that was sent to the slot, and send on what it gave."""
        with errors_for_the_driver():
            yield self._run(int(key[0]), [packed for frame in rows for packed in frame["packed"]])

    def close(self) -> None:
        """Nothing to close."""

    def _run(self, key: int, arrived: list[bytes]) -> pd.DataFrame:
        addresses = [address(packed) for packed in arrived]
        sent = [(key, packed) for packed, (level, _) in zip(arrived, addresses, strict=True) if level != self._level]
        versions = [version for level, version in addresses if level == self._level]
        if versions:
            work = self._packed_work.load(versions[0])
            slot = work.keys.index(key)
            mine = [
                unpack(packed, work.channels)
                for packed, (level, _) in zip(arrived, addresses, strict=True)
                if level == self._level
            ]
            state = SlotState((work.run, self._level, slot), self._store)
            step = Step(mine[0].step, slot, min(consignment.born for consignment in mine))
            parcels = [parcel for consignment in mine for parcel in consignment.parcels]
            sent += run_step(work, self._level, step, parcels, state.of, state.save)
        return pd.DataFrame({"slot": [to for to, _ in sent], "packed": [packed for _, packed in sent]})


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
