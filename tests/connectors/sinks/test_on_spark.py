"""Sinks of a run on Spark: killed with kill -9 and started again; and any sink of Spark through the public API."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import arterial as art

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NETWORK = """
import arterial as art

net = art.Network("speeding")
reports = net.source("reports", {"time": int, "vehicle": int, "speed": int})
reports.filter("fast", "speed > 100").output("alerts")
reports.group_by("vehicle").filter("crawling", "speed < 10").output("slow")
"""
TRAIN_SIZE, STEPS = 500, 12


def _tuples() -> pl.DataFrame:
    order = pl.int_range(TRAIN_SIZE * STEPS, eager=True)
    return pl.DataFrame({"time": order // 50, "vehicle": order % 97, "speed": (order * 31) % 130})


def _rows(folder: Path, table: str) -> list[tuple[int, ...]]:
    if not (folder / "base.db").exists():
        return []
    with closing(sqlite3.connect(folder / "base.db", timeout=30)) as db:
        try:
            return db.execute(f"SELECT time, vehicle, speed FROM {table}").fetchall()
        except sqlite3.OperationalError:  # not made yet
            return []


@pytest.mark.spark
def test_a_killed_driver_leaves_each_tuple_once(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    tuples = _tuples()
    tuples.write_parquet(tmp_path / "reports.parquet")
    command = [
        *(sys.executable, "-m", "arterial", "run", "net.py:net", "--source", "reports=reports.parquet"),
        *("--train-size", str(TRAIN_SIZE), "--master", "local[2]", "--shards", "2"),
        *("--sink", "alerts=sqlite:///base.db?table=alerts", "--sink", "slow=slow.csv?grow"),
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    until = time.monotonic() + 400
    while not _rows(tmp_path, "alerts"):
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    fast, slow = tuples.filter(pl.col("speed") > 100), tuples.filter(pl.col("speed") < 10)
    assert len(_rows(tmp_path, "alerts")) < fast.height, "the run was over before it was killed: give it more tuples"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert _rows(tmp_path, "alerts") == fast.rows()
    written = pl.read_csv(tmp_path / "slow.csv", schema=slow.schema)
    assert written.sort(pl.all()).equals(slow.sort(pl.all()))


def test_any_sink_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    namespace: dict[str, art.Network] = {}
    exec(NETWORK, namespace)
    tuples = _tuples()

    def write(frame: DataFrame, step: int) -> None:
        frame.write.mode("overwrite").parquet(f"{tmp_path}/alerts/step={step}")

    art.run(namespace["net"], reports=tuples, alerts=write, slow=f"{tmp_path}/slow.jsonl", spark=spark).wait()
    there = pl.read_parquet(f"{tmp_path}/alerts/**/*.parquet", hive_partitioning=False)
    fast = tuples.filter(pl.col("speed") > 100)
    assert there.sort(pl.all()).equals(fast.sort(pl.all()))
    assert pl.read_ndjson(tmp_path / "slow.jsonl").height == tuples.filter(pl.col("speed") < 10).height
