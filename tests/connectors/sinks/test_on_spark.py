"""Sinks of a run on Spark: the same as of a local run, also if it is killed; and any sink of Spark."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest

import arterial as art
from tests.connectors.sinks.test_conformance import query
from tests.postgres import PASSWORD, Server

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


def _rows(server: Server) -> list[tuple[Any, ...]]:
    try:
        return query(server, "SELECT time, vehicle, speed FROM killed.alerts")
    except psycopg.errors.UndefinedTable:  # not made yet
        return []


@pytest.mark.spark
@pytest.mark.slow
def test_a_killed_run_leaves_each_tuple_once(tmp_path: Path, postgres: Server) -> None:
    query(postgres, "CREATE SCHEMA killed")
    (tmp_path / "net.py").write_text(NETWORK)
    tuples = _tuples()
    tuples.write_parquet(tmp_path / "reports.parquet")
    command = [
        *(sys.executable, "-m", "arterial", "run", "net.py:net", "--source", "reports=reports.parquet"),
        *("--train-size", str(TRAIN_SIZE), "--master", "local[2]", "--shards", "2"),
        *("--sink", "alerts=" + postgres.uri("table=killed.alerts").replace("tester@", f"tester:{PASSWORD}@")),
        *("--sink", "slow=slow.csv?grow"),
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    until = time.monotonic() + 400
    while not _rows(postgres):
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    fast, slow = tuples.filter(pl.col("speed") > 100), tuples.filter(pl.col("speed") < 10)
    assert len(_rows(postgres)) < fast.height, "the run was over before it was killed: give it more tuples"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert _rows(postgres) == fast.rows()
    written = pl.read_csv(tmp_path / "slow.csv", schema=slow.schema)
    assert written.sort(pl.all()).equals(slow.sort(pl.all()))
    leaked = [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert not leaked
    assert PASSWORD not in done.stderr


def test_the_same_outputs_as_a_local_run(spark: SparkSession, tmp_path: Path, postgres: Server) -> None:
    namespace: dict[str, art.Network] = {}
    exec(NETWORK, namespace)
    tuples = _tuples()
    settings = art.Settings(shards=2, train_size=TRAIN_SIZE * STEPS // 3)
    for name in ("local", "spark"):
        art.run(
            namespace["net"],
            reports=tuples,
            alerts=postgres.uri(f"table={name}_alerts"),
            slow=f"sqlite:///{tmp_path}/{name}.db?key=vehicle",
            settings=settings,
            **({"local": True} if name == "local" else {"spark": spark}),
        ).wait()
    alerts = [query(postgres, f"SELECT * FROM {name}_alerts") for name in ("local", "spark")]
    assert alerts[0] == alerts[1] == tuples.filter(pl.col("speed") > 100).rows()
    slow = []
    for name in ("local", "spark"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as db:
            slow.append(db.execute("SELECT * FROM slow ORDER BY vehicle").fetchall())
    last = tuples.filter(pl.col("speed") < 10).group_by("vehicle").last().select(tuples.columns).sort("vehicle")
    assert slow[0] == slow[1] == last.rows()


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
