"""Runs a network with several stateful boxes, two keys and a join, to its end: the driver that the tests kill.

python recover.py DATA CHECKPOINT OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError

# Long enough that trains are handed over in shared memory.
TRAIN_SIZE = 20_000
SECONDS_PER_TRAIN = 60


def network() -> Network:
    """Windows, a join, a regrouping, a latch."""
    net = Network("recovery")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    by_key = reports.group_by("key")
    sums = by_key.tumble("sums", every=10, total="sum(value)", n="count(*)")
    sums.output("sums_out")
    by_key.filter("high", "value > 90").join("pairs", by_key.filter("low", "value < 10"), within=4).output("pairs_out")
    sums.group_by("n").latch("per_n", every=20, groups="count(*)").output("per_n_out")
    by_key.slide("moving", over=15, every=5, peak="max(value)").output("moving_out")
    return net


def tuples(count: int) -> pl.DataFrame:
    """The stream."""
    order = pl.int_range(count, eager=True)
    return pl.DataFrame(
        {
            "time": order * SECONDS_PER_TRAIN // TRAIN_SIZE,
            "key": ((order * 7919) % 211).cast(pl.Int32),
            "value": (order * 31 + order // 7) % 101,
        }
    )


def go(spark: SparkSession, data: Path, checkpoint: Path, out: Path) -> None:
    """Run it to its end, from wherever it is."""
    value = network().value
    sinks = {box.name: FileSink(out / box.name) for box in value.boxes if not box.outputs}
    settings = Settings(shards=2, train_size=TRAIN_SIZE)
    run(value, {"reports": FileSource(data)}, sinks, checkpoint, settings, spark=spark).wait()


def main(data: str, checkpoint: str, out: str) -> None:
    """Run it in a Spark of its own."""
    spark = spark_session("recovery", master=os.environ.get("ARTERIAL_MASTER", "local[2,4]"))
    go(spark, Path(data), Path(checkpoint), Path(out))
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
