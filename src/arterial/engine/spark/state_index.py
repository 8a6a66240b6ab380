"""The indexes of all slots, as Spark's state store has them after the last step, read by Spark's own data source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arterial.engine.spark.session import query_settings
from arterial.errors import RunError
from arterial.storage.remote import spark_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_indexes(session: SparkSession, spark: Path, levels: int) -> list[tuple[int, int, bytes]]:
    """For each slot that has state: the number of Spark's operator, the slot's key, and the index."""
    found = []
    try:
        with query_settings(session, 1, spark):  # without them Spark looks for files of other names
            for operator in range(levels):
                reader = session.read.format("statestore").option("operatorId", operator)
                for row in reader.option("stateVarName", "index").load(spark_name(spark)).collect():
                    found.append((operator, int(row["key"][0]), bytes(row["value"][0])))
    except Exception as trouble:
        why = (str(trouble).splitlines() or ["unknown"])[0]
        raise RunError(
            f"the number of shards cannot change: Spark cannot read the state in {spark} ({why}). Nothing is changed: "
            "go on without --shards"
        ) from trouble
    return found
