"""The five jobs on Spark Structured Streaming: `with_spark.py JOB INPUT.parquet OUTPUT.csv [POLYGONS.json]`.

The file is one micro-batch. A tuple from far in the future follows it, by which the watermark closes all windows.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from places import Polygons, events
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

FUTURE = 4_000_000_000
DAY = 86_400
"""Added to times: watermarks begin with 1970, so that the tuples of its first second would be late."""
CORES = os.cpu_count() or 1
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": CORES,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}


def averages(rows: DataFrame) -> DataFrame:
    """sensor, time, mean."""
    sensors = rows.sparkSession.range(2000)
    limits = sensors.select(F.col("id").alias("sensor"), (F.col("id") % 100).alias("limit"))
    means = rows.groupBy("sensor", F.window("at", "5 minutes", "1 minute")).agg(F.avg("value").alias("mean"))
    high = means.join(F.broadcast(limits), "sensor").where("mean > limit")
    return high.select("sensor", (_seconds("window.end") - 1).alias("time"), "mean")


def sessions(rows: DataFrame) -> DataFrame:
    """user, time, n, spent, since."""
    # A gap of 30 s belongs to a session, and Spark's end at once.
    visits = rows.groupBy("user", F.session_window("at", "30001 milliseconds")).agg(
        F.max("time").alias("time"),
        F.count("*").alias("n"),
        F.sum("spent").alias("spent"),
        F.min("time").alias("since"),
    )
    return visits.select("user", "time", "n", "spent", "since")


def visits(rows: DataFrame) -> DataFrame:
    """time, object, fence, event."""
    file = str(Path(sys.argv[4]).absolute())

    def moved(key: Any, parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        polygons = _polygons(file)
        before = frozenset(map(int, state.get[0].split())) if state.exists else frozenset()
        made = []
        for part in parts:
            for row in part.itertuples(index=False):
                now = polygons.around(row.x, row.y)
                made += [(row.time, row.object, *event) for event in events(before, now)]
                before = now
        state.update((" ".join(map(str, before)),))
        yield pd.DataFrame(made, columns=["time", "object", "fence", "event"])

    by = rows.where(F.col("time") < FUTURE).groupBy("object")
    layout = "time long, object long, fence string, event string"
    return by.applyInPandasWithState(moved, layout, "inside string", "append", GroupStateTimeout.NoTimeout)


def leaders(rows: DataFrame) -> DataFrame:
    """time, page, hits, rank."""
    counts = rows.groupBy("page", F.window("at", "1 minute")).agg(F.count("*").alias("hits"))
    one = F.struct((-F.col("hits")).alias("less"), "page", "hits")
    ranked = F.slice(F.sort_array(F.collect_list(one)), 1, 10)
    best = counts.groupBy(F.window(F.window_time("window"), "1 minute")).agg(ranked.alias("best"))
    each = best.select((_seconds("window.end") - 1).alias("time"), F.posexplode("best").alias("place", "one"))
    return each.select("time", "one.page", "one.hits", (F.col("place") + 1).alias("rank"))


def firsts(rows: DataFrame) -> DataFrame:
    """time, id, value."""
    return rows.dropDuplicatesWithinWatermark(["id"]).where(F.col("time") < FUTURE).select("time", "id", "value")


JOBS = {job.__name__: job for job in (averages, sessions, visits, leaders, firsts)}
_KNOWN: dict[str, Polygons] = {}


def _polygons(file: str) -> Polygons:
    """Once for a worker."""
    if file not in _KNOWN:
        _KNOWN[file] = Polygons(file)
    return _KNOWN[file]


def _seconds(column: str) -> Any:
    return F.unix_timestamp(column) - DAY


def main() -> None:
    """One job from its file to its answers."""
    job, source, target = sys.argv[1:4]
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(prefix="with-spark-") as scratch:
        folder = Path(scratch, "in")
        folder.mkdir()
        (folder / "0.parquet").symlink_to(Path(source).absolute())
        kind = pq.read_schema(source)
        last = {name: [FUTURE if name == "time" else 0] for name in kind.names}
        pq.write_table(pa.table(last).cast(kind), folder / "1.parquet")
        builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.local.dir", str(Path(scratch, "spark")))
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        stream = spark.readStream.schema(spark.read.parquet(source).schema).option("maxFilesPerTrigger", 1)
        late = "1 day" if job == "firsts" else "0 seconds"
        rows = (
            stream.parquet(str(folder))
            .withColumn("at", F.timestamp_seconds(F.col("time") + DAY))
            .withWatermark("at", late)
        )
        with Path(target).open("w") as answers:

            def write(batch: DataFrame, number: int) -> None:
                batch.toPandas().to_csv(answers, header=False, index=False)

            writer = JOBS[job](rows).writeStream.foreachBatch(write).outputMode("append")
            writer = writer.option("checkpointLocation", str(Path(scratch, "checkpoint")))
            writer.trigger(availableNow=True).start().awaitTermination()
        spark.stop()


if __name__ == "__main__":
    main()
