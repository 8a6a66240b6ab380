"""The vehicles and expressways of a data set that need a history: those that drive, and those that requests name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from arterial.errors import DataError
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.formats.events import EXPENDITURE_REQUEST, POSITION_REPORT, TRAVEL_TIME_REQUEST
from arterial.linearroad.history.make import Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANY_VEHICLE = -1


def wanted_by(spark: SparkSession, data: Path) -> Wanted:
    """What requests of a data set may ask for: a Spark job, a task for each file of events."""
    opened = open_data(data)
    try:
        files = [str(file) for file in opened.parquet_files.values()]
        found = pa.concat_tables(spark.sparkContext.parallelize(files, len(files)).map(asked_for).collect())
    finally:
        opened.close()
    vid, xway = (found[name].to_numpy() for name in ("vid", "xway"))
    order = np.lexsort((xway, vid))
    new = np.diff(vid[order], prepend=_ANY_VEHICLE) != 0
    new[1:] |= np.diff(xway[order]) != 0
    order = order[new & (vid[order] != _ANY_VEHICLE)]
    if len(order) == 0:
        raise DataError(f"{data}: no position report and no daily-expenditure request in it; a history needs vehicles.")
    return Wanted(vid[order], xway[order], tuple(np.unique(xway).tolist()))


def asked_for(file: str) -> pa.Table:
    """Pairs (vehicle, expressway) of reports and daily-expenditure requests; travel-time ones count as vehicle -1."""
    pairs = pa.schema([("vid", pa.int64()), ("xway", pa.int32())]).empty_table()
    asking = pa.array([POSITION_REPORT, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST], pa.int8())
    with pa.parquet.ParquetFile(file) as events:
        for piece in events.iter_batches(batch_size=1 << 20, columns=["type", "vid", "xway"]):
            kept = pa.table(piece).filter(pc.is_in(pc.field("type"), asking))
            vid = pc.if_else(pc.equal(kept["type"], TRAVEL_TIME_REQUEST), _ANY_VEHICLE, kept["vid"])
            both = pa.concat_tables([pairs, pa.table({"vid": vid, "xway": kept["xway"]})])
            pairs = both.group_by(["vid", "xway"], use_threads=False).aggregate([])
    return pairs
