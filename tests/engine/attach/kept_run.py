"""Runs a network with a connection point on Spark, to its end: the run that the tests attach to, and kill.

python kept_run.py DATA CHECKPOINT
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError

STEPS = 40
TRAIN_SIZE = 2_000
SECONDS_A_STEP = 20


def network() -> Network:
    """Reports, kept as they come, and something that the run is for."""
    net = Network("kept")
    reports = net.source("reports", {"time": int, "seg": "int16", "speed": int})
    kept = reports.connection_point("history", "10 hours", ["seg"])
    kept.group_by("seg").tumble("sums", every=10, total="sum(speed)").output("out")
    return net


def tuples() -> pl.DataFrame:
    """The stream."""
    order = pl.int_range(STEPS * TRAIN_SIZE, eager=True)
    return pl.DataFrame(
        {
            "time": order * SECONDS_A_STEP // TRAIN_SIZE,
            "seg": ((order * 7919) % 23).cast(pl.Int16),
            "speed": (order * 31 + order // 7) % 101,
        }
    )


def go(spark: SparkSession, data: Path, checkpoint: Path, interval: float = 0.0) -> None:
    """Run it to its end, from wherever it is."""
    settings = Settings(shards=2, train_size=TRAIN_SIZE, interval=interval)
    run(network().value, {"reports": FileSource(data)}, {}, checkpoint, settings, spark=spark).wait()


def main(data: str, checkpoint: str) -> None:
    """Run it in a Spark of its own, slowly enough to be watched, also by queries that step back on a busy machine."""
    spark = spark_session("kept", master="local[2,4]")
    go(spark, Path(data), Path(checkpoint), interval=1.5)
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
