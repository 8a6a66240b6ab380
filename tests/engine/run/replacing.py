"""Runs a network and replaces it on the way: the driver that the tests kill around a replacement.

python replacing.py DATA CHECKPOINT OUT [optimise]

It declares `first`, and while it runs it goes on with `second`, and then with `first` again: an output goes and comes.
With `optimise` it declares `badly_drawn`, and its optimizer changes that.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import polars as pl

from arterial import Network, function
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.run import Settings, SparkRun, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError

TRAIN_SIZE = 2_000
STEPS = 24
SECOND_FROM, THIRD_FROM = 6, 14


def first(limit: str = "value > 90") -> Network:
    """A window by key, and high values."""
    net = Network("replacing")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    by_key = reports.filter("known", "value is not null").filter("not last", "value < 100").group_by("key", name="by")
    by_key.tumble("sums", every=10, total="sum(value)", n="count(*)").output("sums_out")
    reports.filter("high", limit).output("high_out")
    return net


def second() -> Network:
    """The same windows, drawn in another way, and no high values."""
    net = Network("replacing")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    by_key = reports.filter("both", "value is not null and value < 100").group_by("key", name="by")
    by_key.tumble("sums", every=10, total="sum(value)", n="count(*)").output("sums_out")
    return net


@function(reads=["value"], produces="int64")
def slow(value: pl.Series) -> pl.Series:
    """Python code, a value at a time."""
    return pl.Series([sum(range(each % 50 + 1000)) for each in value.to_list()])


def badly_drawn() -> Network:
    """An expensive Map before a Filter, and windows behind them."""
    net = Network("badly drawn")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    few = reports.map("work", work=slow).filter("few", "key % 10 = 0")
    few.group_by("key", name="by").tumble("sums", every=10, total="sum(work)", n="count(*)").output("sums_out")
    return net


def tuples() -> pl.DataFrame:
    """The stream: a train is a step of five seconds."""
    order = pl.int_range(STEPS * TRAIN_SIZE, eager=True)
    return pl.DataFrame(
        {
            "time": order * 5 // TRAIN_SIZE,
            "key": ((order * 7919) % 211).cast(pl.Int32),
            "value": (order * 31 + order // 7) % 101,
        }
    )


def _until(running: SparkRun, step: int) -> None:
    while running.active and running.status.step < step:
        time.sleep(0.01)


def main(data: str, checkpoint: str, out: str, mode: str = "") -> None:
    """Run it; what was replaced before a kill stays replaced."""
    value = badly_drawn().value if mode else first().value
    sinks = {box.name: FileSink(Path(out) / box.name) for box in value.boxes if not box.outputs}
    spark = spark_session("replacing", master="local[2,4]")
    settings = Settings(shards=2, train_size=TRAIN_SIZE, optimise=bool(mode))
    running = run(value, {"reports": FileSource(data)}, sinks, checkpoint, settings, spark=spark)
    print(f"started with version {running.version}", flush=True)
    while mode and running.active and running.version == 1:
        time.sleep(0.002)
    if mode:
        print("changed", flush=True)
    elif running.version == 1:
        _until(running, SECOND_FROM - 1)
        running.replace(second().value)
        print("second", flush=True)
    if not mode and running.version == 2:
        _until(running, THIRD_FROM - 1)
        running.replace(first().value, {"high_out": FileSink(Path(out) / "high_again")})
        print("third", flush=True)
    running.wait()
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
