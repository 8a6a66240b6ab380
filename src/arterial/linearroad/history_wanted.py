"""The vehicles and expressways of a data set that need a history: those that drive, and those that requests name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arterial.errors import DataError
from arterial.linearroad.events import EVENT_SCHEMA, EXPENDITURE_REQUEST, POSITION_REPORT, TRAVEL_TIME_REQUEST
from arterial.linearroad.history import Wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def wanted_by(spark: SparkSession, data: Path) -> Wanted:
    """The vehicles of a data set: a folder or file that `_events` understands."""
    found = wanted_by_events(_events(spark, data))
    if len(found.vid) == 0:
        raise DataError(f"{data}: no position report and no daily-expenditure request in it; a history needs vehicles.")
    return found


def wanted_by_events(events: DataFrame) -> Wanted:
    """Pairs (vehicle, expressway) of reports and daily-expenditure requests; expressways of travel-time ones too."""
    from pyspark.sql.functions import col, lit, when

    asked = (
        events.where(col("type").isin(POSITION_REPORT, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST))
        .select(
            when(col("type") == TRAVEL_TIME_REQUEST, lit(-1)).otherwise(col("vid")).cast("long").alias("vid"), "xway"
        )
        .distinct()
        .toArrow()
    )
    vid = asked["vid"].to_numpy()
    xway = asked["xway"].to_numpy().astype(np.int32)
    order = np.lexsort((xway, vid))
    order = order[vid[order] >= 0]
    return Wanted(vid[order], xway[order], tuple(np.unique(xway).tolist()))


def _events(spark: SparkSession, data: Path) -> DataFrame:
    if (data / "events").is_dir():
        return spark.read.parquet(str(data / "events"))
    source = data / "events.csv" if (data / "events.csv").exists() else data
    if not source.exists():
        raise DataError(f"{source}: no such file or folder; expected a data set of Linear Road.")
    if source.suffix == ".parquet":
        return spark.read.parquet(str(source))
    columns = ", ".join(f"{name} bigint" for name in EVENT_SCHEMA.names)
    return spark.read.csv(str(source), schema=columns)
