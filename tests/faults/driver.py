"""Runs a network with all kinds of files on Spark, to its end: the run that the fail points kill.

python -m tests.faults.driver DATA CHECKPOINT OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

import arterial as art
from arterial.connectors.files.source import FileSource
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files.growing import GrowingSink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError
from tests.engine.tiny import Add

TUPLES, TRAIN_SIZE = 12_000, 3000


def network() -> art.Network:
    """Two levels with state in files, rejects, a connection point, an output of each kind."""
    net = art.Network("killed")
    rows = net.source("rows", {"time": "int64", "key": "int32", "value": "int64"})
    kept = rows.box(Add("add", poison=7777)).connection_point("recent", 100_000)
    sums = kept.group_by("key").tumble("sums", every=10, total="sum(value)", n="count(*)")
    sums.output("sums_out")
    sums.group_by("n").latch("per_n", every=20, groups="count(*)").output("per_n_out")
    kept.filter("high", "value > 11900").output("high_out")
    return net


def tuples() -> pl.DataFrame:
    """The stream."""
    order = pl.int_range(TUPLES, eager=True)
    return pl.DataFrame({"time": order // 50, "key": ((order * 7919) % 1999).cast(pl.Int32), "value": order})


def sinks(out: Path) -> dict[str, Sink]:
    """One of each kind."""
    return {
        "sums_out": GrowingSink.at(out / "sums.csv"),
        "per_n_out": FileSink(out / "per_n", merge=True),
        "high_out": FileSink(out / "high", "csv", compact=True),
    }


def go(spark: SparkSession, data: Path, checkpoint: Path, out: Path) -> None:
    """Run it to its end, from wherever it is."""
    settings = Settings(2, TRAIN_SIZE, SET_ASIDE, durable=bool(os.environ.get("TEST_DURABLE")))
    run(network().value, {"rows": FileSource(data)}, sinks(out), checkpoint, settings, spark=spark).wait()


def main(data: str, checkpoint: str, out: str) -> None:
    """Run it in a Spark of its own."""
    spark = spark_session("killed", master="local[2,4]")
    go(spark, Path(data), Path(checkpoint), Path(out))
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
