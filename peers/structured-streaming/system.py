"""Linear Road on Spark Structured Streaming alone: a Python data source and two stateful steps in Python."""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from accounts import Accounts
from packed import EMIT, SCHEMA
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from road import Road
from source import Seconds, history_key, spool

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Djdk.lang.Process.launchMechanism=VFORK",
    "spark.locality.wait": "0",
    "spark.sql.adaptive.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "50",
}


def main() -> None:
    """Run until the driver has no more."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("output", type=Path, help="the file for the answers")
    options.add_argument("start", type=Path, help="the file with the driver's start")
    options.add_argument("--tolls", type=Path, help="TollHistory: a folder of Parquet files")
    options.add_argument("--vids-apart", type=int, default=0, help="how far apart the vehicles of two replicas are")
    options.add_argument("--xways-apart", type=int, default=0, help="how far apart the expressways of two replicas are")
    options.add_argument("--ready", type=Path, help="a file to make when the lines may come")
    options.add_argument("--cores", type=int, default=os.cpu_count(), help="tasks side by side, and shards")
    options.add_argument("--warm-up", type=int, default=40, help="micro-batches before the lines may come")
    given = options.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="structured-streaming-"))
    try:
        run(given, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run(given: argparse.Namespace, scratch: Path) -> None:
    """Warm up, say so, then follow the driver's lines to their end."""
    write_history(given.tolls, scratch)
    spark = session(given.cores, scratch)
    keys = even_keys(spark, given.cores)
    common = {"keys": keys, "history": scratch, "vids_apart": given.vids_apart, "xways_apart": given.xways_apart}
    if given.warm_up:
        warm_up(spark, scratch / "warm-up", given.warm_up, common)
    with given.output.open("wb") as output:
        query = start(spark, scratch / "run", Answers(output, given.start), **common)
        if given.ready:
            given.ready.touch()
        reader = threading.Thread(target=spool, args=(sys.stdin.fileno(), scratch / "run" / "spool"), daemon=True)
        reader.start()
        while reader.is_alive() and not query.awaitTermination(0.5):
            pass
        query.processAllAvailable()
        query.stop()
    spark.stop()


def session(cores: int, scratch: Path) -> SparkSession:
    """Spark in this process, its files in the scratch folder."""
    # So that the workers find the steps.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.sql.shuffle.partitions", cores)
    for name, value in {**SETTINGS, "spark.local.dir": str(scratch / "spark")}.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Seconds)
    return spark


def even_keys(spark: SparkSession, shards: int) -> tuple[int, ...]:
    """A key for each shard, such that each goes to a task of its own: the keys 0 and 1 share one of two tasks."""
    task = F.pmod(F.hash(F.col("id").cast("int")), F.lit(shards)).alias("task")
    rows = spark.range(64 * shards).select("id", task).collect()
    return tuple(next(row.id for row in rows if row.task == number) for number in range(shards))


def start(
    spark: SparkSession, folder: Path, answers: Answers, keys: tuple[int, ...], history: Path, **apart: int
) -> Any:
    """The query: seconds, roads, accounts, answers."""
    (folder / "spool").mkdir(parents=True)
    source = spark.readStream.format("seconds").options(
        keys=" ".join(map(str, keys)),
        history=str(history),
        vidsApart=apart["vids_apart"],
        xwaysApart=apart["xways_apart"],
    )
    steps: DataFrame = source.load(str(folder / "spool"))
    for step in (Road(keys), Accounts()):
        steps = steps.groupBy("key").transformWithStateInPandas(step, SCHEMA, outputMode="append", timeMode="none")
    writer = steps.select("payload").writeStream.outputMode("append").foreachBatch(answers.write)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


class Answers:
    """The file of answers. Emit is the time since the driver's start, rounded up to a millisecond."""

    def __init__(self, output: Any, start: Path) -> None:
        self.output, self.start = output, start
        self.began: float | None = None

    def write(self, batch: DataFrame, number: int) -> None:
        """The lines of a micro-batch."""
        parts = [bytes(row.payload) for row in batch.collect()]
        if self.began is None:
            self.began = float(self.start.read_text())
        emit = f"{math.ceil((time.time() - self.began) * 1000) / 1000:.3f}"
        self.output.write(b"".join(parts).replace(EMIT.encode(), emit.encode()))
        self.output.flush()


def warm_up(spark: SparkSession, folder: Path, batches: int, common: dict[str, Any]) -> None:
    """The same query on some vehicles, so that Java's code is compiled and Python's workers are there."""
    chance = random.Random(1)
    folder.mkdir()
    (folder / "start").write_text(str(time.time()))
    with (folder / "answers").open("wb") as output:
        query = start(spark, folder, Answers(output, folder / "start"), **common)
        for second in range(batches):
            reports = "".join(
                f"0,{second},{vid},20,{vid % 4},1,{vid % 2},{(seg := chance.randrange(100))},{seg * 5280},"
                "-1,-1,-1,-1,-1,-1\n"
                for vid in range(second % 30, 3000, 30)
            )
            requests = f"2,{second},1,-1,-1,-1,-1,-1,-1,1,-1,-1,-1,-1,-1\n"
            (folder / "spool" / ".new").write_text(reports + requests)
            (folder / "spool" / ".new").rename(folder / "spool" / str(second))
            query.processAllAvailable()
        query.stop()


def write_history(tolls: Path | None, folder: Path) -> None:
    """TollHistory as two columns, sorted by key."""
    keys, values = np.empty(0, np.int64), np.empty(0, np.int64)
    if tolls is not None:
        table = pq.read_table(sorted(tolls.glob("*.parquet")), columns=["vid", "day", "xway", "tolls"])
        vid, day, xway, values = (table[name].to_numpy().astype(np.int64) for name in table.column_names)
        keys = history_key(vid, day, xway)
        order = np.argsort(keys)
        keys, values = keys[order], values[order]
    np.save(folder / "keys.npy", keys)
    np.save(folder / "tolls.npy", values)


if __name__ == "__main__":
    main()
