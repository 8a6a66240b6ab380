"""The five jobs on Spark Structured Streaming: `with_spark.py JOB INPUT.parquet OUTPUT.csv [POLYGONS.json]`.

The file is one micro-batch. A tuple from far in the future follows it, by which the watermark closes all windows.
Input and output may also be topics, `kafka://SERVER/TOPIC`; then one micro-batch follows the other at once.
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
from live import FIELDS, JARS, topic_of
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
    """One job from its file or topic to its answers."""
    job, source, target = sys.argv[1:4]
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(prefix="with-spark-") as scratch:
        builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.local.dir", str(Path(scratch, "spark")))
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        come, go = topic_of(source), topic_of(target)
        if come:
            builder = builder.config("spark.jars", ",".join(map(str, sorted(JARS.glob("*.jar")))))
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        tuples = from_topic(spark, job, come) if come else from_file(spark, source, Path(scratch, "in"))
        moments = tuples.withColumn("at", F.timestamp_seconds(F.col("time") + DAY))
        rows = moments.withWatermark("at", "1 day" if job == "firsts" else "0 seconds")
        answers = JOBS[job](rows)
        checkpoint = str(Path(scratch, "checkpoint"))
        if go:
            messages = answers.select(F.to_json(F.struct("*")).alias("value")).writeStream.format("kafka")
            writer = messages.option("kafka.bootstrap.servers", go[0]).option("topic", go[1])
            writer.option("checkpointLocation", checkpoint).outputMode("append").start().awaitTermination()
            return
        with Path(target).open("w") as file:

            def write(batch: DataFrame, number: int) -> None:
                batch.toPandas().to_csv(file, header=False, index=False)

            writer = answers.writeStream.foreachBatch(write).outputMode("append")
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
        spark.stop()


def from_file(spark: SparkSession, source: str, folder: Path) -> DataFrame:
    """The tuples of a file, and one from the future."""
    folder.mkdir()
    (folder / "0.parquet").symlink_to(Path(source).absolute())
    kind = pq.read_schema(source)
    last = {name: [FUTURE if name == "time" else 0] for name in kind.names}
    pq.write_table(pa.table(last).cast(kind), folder / "1.parquet")
    stream = spark.readStream.schema(spark.read.parquet(source).schema).option("maxFilesPerTrigger", 1)
    return stream.parquet(str(folder))


def from_topic(spark: SparkSession, job: str, place: tuple[str, str]) -> DataFrame:
    """The tuples of a topic."""
    server, topic = place
    layout = ", ".join(f"`{name}` {kind}" for name, kind in FIELDS[job].items())
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", topic)
    messages = stream.option("startingOffsets", "earliest").option("kafka.fetch.max.wait.ms", "10").load()
    return messages.select(F.from_json(F.col("value").cast("string"), layout).alias("tuple")).select("tuple.*")


if __name__ == "__main__":
    main()
