"""A query of another process on a run on Spark: both are killed, and its answer is that to the whole stream."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from arterial import Network, attach
from arterial.cli.main import app
from arterial.connectors.files.source import FileSource
from arterial.connectors.points.contents import read_contents
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.attach.token import read_token
from arterial.engine.run.run import Settings, run
from tests.engine.attach.kept_run import TRAIN_SIZE, go, network, tuples

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SCRIPT = Path(__file__).with_name("kept_run.py")
QUERY = "SELECT seg, count(*) AS n, sum(speed) AS v FROM history WHERE seg < 9 GROUP BY seg, TUMBLE(time, '30 seconds')"
COMMAND = [sys.executable, "-c", "from arterial.cli.main import main; main()", "attach"]


def _run(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, SCRIPT, folder / "data.parquet", folder / "checkpoint"], stderr=subprocess.PIPE
    )


def _attach(folder: Path) -> subprocess.Popen[bytes]:
    # Other tests keep the cores busy: a query that steps back would see no more of the run than its end.
    kept = ["--token", folder / "token", "--out", folder / "answer.csv", "--urgent"]
    return subprocess.Popen(
        [*COMMAND, folder / "checkpoint", "history", QUERY, "--follow", *kept],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _until(condition: Callable[[], bool], *processes: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + 300
    while not condition():
        for process in processes:
            assert process.poll() is None, process.stderr.read().decode()  # type: ignore[union-attr]
        assert time.monotonic() < patience, "waited in vain"
        time.sleep(0.02)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()  # type: ignore[union-attr]


def _finish(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()


def _through(folder: Path) -> int:
    kept = read_token(folder / "token")
    return -1 if kept is None else kept.token.through


def _expected() -> pl.DataFrame:
    few = tuples().filter(pl.col("seg") < 9)
    rows = few.group_by(pl.col("time") // 30 * 30 + 29, "seg").agg(n=pl.len(), v=pl.col("speed").sum())
    return rows.with_columns(pl.col("n").cast(pl.Int64), pl.col("seg").cast(pl.Int64)).sort("time", "seg")


def test_both_are_killed_and_nothing_is_missing_or_doubled(spark: SparkSession, tmp_path: Path) -> None:
    tuples().write_parquet(tmp_path / "data.parquet")
    table = tmp_path / "checkpoint" / "points" / "history"
    run = _run(tmp_path)
    _until(lambda: read_contents(table).step >= 3, run)
    asking = _attach(tmp_path)
    _until(lambda: _through(tmp_path) >= 60, run, asking)
    _kill(asking)
    asking = _attach(tmp_path)
    reached = _through(tmp_path)
    _until(lambda: _through(tmp_path) > reached, run, asking)
    _kill(run)
    stopped = attach(tmp_path / "checkpoint", "history", QUERY)
    before = pl.concat([answer.frame for answer in stopped])
    go(spark, tmp_path / "data.parquet", tmp_path / "checkpoint")
    _finish(asking)
    got = pl.read_csv(io.BytesIO((tmp_path / "answer.csv").read_bytes())).drop("sign")
    assert got.sort("time", "seg").select("time", "seg", "n", "v").equals(_expected().select("time", "seg", "n", "v"))
    rest = attach(tmp_path / "checkpoint", "history", QUERY, token=str(stopped.token)).collect()["answer"]
    both = pl.concat([before, rest]).with_columns(pl.col("seg").cast(pl.Int64))
    assert both.sort("time", "seg").select("time", "seg", "n", "v").equals(_expected().select("time", "seg", "n", "v"))


def test_a_query_is_adopted_without_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    tuples().write_parquet(tmp_path / "data.parquet")
    settings = Settings(shards=2, train_size=2 * TRAIN_SIZE, interval=0.2)
    source = FileSource(tmp_path / "data.parquet")
    running = run(network().value, {"reports": source}, {}, tmp_path / "checkpoint", settings, spark=spark)
    while running.status.step < 5:
        assert not running.wait(0.05)
    query = "SELECT seg, speed FROM history WHERE speed < 9"
    windows = Network("windows")
    few = windows.source("history", {"time": int, "seg": "int16", "speed": int}).filter("few", "seg < 9")
    few.group_by("seg").tumble("t", every=30, n="count(*)", v="sum(speed)").output("answer")
    assert running.adopt("history", windows, "slow", MemorySink()) == 2
    told = ["adopt", str(tmp_path / "checkpoint"), "history", query, "--output", "same", "--sink", f"{tmp_path}/same/"]
    said = CliRunner().invoke(app, told)
    assert "accepted as version 3" in said.output, said.output
    wrong = CliRunner().invoke(app, [*told[:2], "histry", *told[3:]])
    assert "no connection point or view 'histry'" in str(wrong.exception)
    assert running.wait(300)
    # Both begin with the history of the connection point.
    columns = ("time", "seg", "n", "v")
    got = running["slow"].with_columns(pl.col("seg").cast(pl.Int64)).select(columns).sort("time", "seg")
    assert got.equals(_expected().select(columns))
    same, whole = pl.read_parquet(tmp_path / "same" / "*.parquet"), tuples().filter(pl.col("speed") < 9)
    assert same.select(whole.columns).sort(whole.columns).equals(whole.sort(whole.columns))
