"""StepSteering runs on Spark: a tap of another process, a kill while tuples are shed, and figures that add up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import arterial as art
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.figures.status import read_status
from arterial.engine.run.run import Settings, run
from arterial.engine.steering import control
from arterial.figures.steering import Drop, Steering
from arterial.figures.steps_file import read_steps
from arterial.network.train import END, Train
from arterial.storage.fail_point import VARIABLE

ROWS = 6000
NETWORK = """
import arterial as art

net = art.Network("steered")
fast = net.source("s", {"time": int, "k": int, "x": int}).filter("f", "x >= 0")
fast.group_by("k").tumble("t", every=10, n="count(*)").output("o")
fast.map("m", time="time", y="x * 2").output("raw")
"""
ARC, SETTLED = "by_k.out → t.in", "f.out → m.in"


def _command(folder: Path, *more: str) -> list[str]:
    where = [f"{folder / 'net.py'}:net", "--source", f"s={folder / 'in.csv'}", "--out", str(folder / "out")]
    return [sys.executable, "-m", "arterial", "run", *where, *more, "--shards", "2", "--train-size", "40"]


def _write(folder: Path) -> None:
    (folder / "net.py").write_text(NETWORK)
    times = [n // 10 for n in range(ROWS)]
    frame = pl.DataFrame({"time": times, "k": [n % 7 for n in range(ROWS)], "x": range(ROWS)})
    frame.write_csv(folder / "in.csv")


def _until_step(checkpoint: Path, step: int, started: subprocess.Popen[bytes]) -> None:
    patience = time.monotonic() + 120
    while time.monotonic() < patience:
        assert started.poll() is None, (checkpoint.parents[1] / "said").read_text()
        try:
            if (status := read_status(checkpoint)) is not None and status.step >= step:
                return
        finally:
            time.sleep(0.05)
    raise AssertionError(f"no step {step} in time")


def _start(folder: Path, point: str = "") -> subprocess.Popen[bytes]:
    """A run, killed at a fail point if one is named."""
    environment = {**os.environ, VARIABLE: point} if point else {**os.environ}
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(_command(folder), stdout=said, stderr=said, start_new_session=True, env=environment)


@pytest.mark.spark
@pytest.mark.slow
def test_a_kill_while_shedding_and_a_tap(tmp_path: Path) -> None:
    _write(tmp_path)
    checkpoint = tmp_path / "out" / "checkpoint"
    first = _start(tmp_path)
    _until_step(checkpoint, 2, first)
    control.shed(checkpoint / FOLDER, ARC, Drop(0.5))
    control.shed(checkpoint / FOLDER, SETTLED, Drop(0.5, overflow=True))
    arterial = [sys.executable, "-m", "arterial"]
    tap = subprocess.run(
        [*arterial, "tap", str(tmp_path / "out"), "by_k -> t", "x % 2 = 0", "--limit", "5", "--format", "json"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    shown = [json.loads(line) for line in tap.stdout.splitlines()]
    assert len(shown) == 5
    assert all(row["x"] % 2 == 0 and row["time"] == row["x"] // 10 for row in shown)
    _until_step(checkpoint, (read_status(checkpoint) or pytest.fail("no status")).step + 3, first)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert _start(tmp_path, "settle.answered").wait(300) == -signal.SIGKILL, (tmp_path / "said").read_text()
    again = _start(tmp_path)
    assert again.wait(300) == 0, (tmp_path / "said").read_text()
    status = read_status(checkpoint)
    assert status is not None
    assert (status.state, status.restarts, status.tuples_in) == ("finished", 2, {"s": ROWS})
    steps = list(read_steps(checkpoint))
    assert [step.step for step in steps] == list(range(1, status.step + 1))
    assert sum(step.sources["s"].tuples for step in steps) == ROWS
    left_out = sum(step.shed.get(ARC, 0) for step in steps)
    assert left_out == status.shed[ARC]
    counted = pl.read_parquet(tmp_path / "out" / "o" / "*.parquet")["n"].sum()
    # A replay that shed other tuples would leave some out twice, or count some that were left out.
    assert counted == ROWS - left_out
    late = pl.read_parquet(checkpoint / "settled" / "raw" / "part-*.parquet")
    assert late.height == status.shed[SETTLED] > 0
    answers = pl.concat([pl.read_parquet(tmp_path / "out" / "raw" / "*.parquet"), late])
    assert sorted(answers["y"]) == [2 * n for n in range(ROWS)]
    assert 0.3 < left_out / sum(sum(s.boxes["by_k"].tuples_out.values()) for s in steps if s.shed) < 0.7


OVERFLOWS = """
import arterial as art

net = art.Network("overflows")
left = net.source("left", {"time": int, "k": int, "x": int})
right = net.source("right", {"time": int, "k": int, "x": int})
left.output("raw")
pairs = left.group_by("k").join("pairs", right.group_by("k"), on="left.x = right.x", within=1)
pairs.group_by().tumble("t", every=10, n="count(*)").output("o")
"""
SIDES = "by_k.out → pairs.left", "by_k_2.out → pairs.right"


@pytest.mark.spark
@pytest.mark.slow
def test_kills_while_a_join_overflows(tmp_path: Path) -> None:
    """The queues of both its sides are in the committed state: after two kills every pair is counted once."""
    _write(tmp_path)
    (tmp_path / "net.py").write_text(OVERFLOWS)
    files = [part for name in ("left", "right") for part in ("--source", f"{name}={tmp_path / 'in.csv'}")]
    command = [*_command(tmp_path)[:5], *files, "--out", str(tmp_path / "out"), "--shards", "2", "--train-size", "200"]
    checkpoint = tmp_path / "out" / "checkpoint"
    waited = 0
    for step in (8, 12, None):
        with (tmp_path / "said").open("ab") as said:
            started = subprocess.Popen(
                [*command, "--shed", "--overflow"], stdout=said, stderr=said, start_new_session=True
            )
        if step is None:
            assert started.wait(300) == 0, (tmp_path / "said").read_text()
            break
        _until_step(checkpoint, 1, started)
        control.hold(checkpoint / FOLDER, SIDES[0], 5)
        control.hold(checkpoint / FOLDER, SIDES[1], 3)
        _until_step(checkpoint, step, started)
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        waited = max(
            waited, *((read_status(checkpoint) or pytest.fail("no status")).window["held"][side] for side in SIDES)
        )
    assert waited > 400
    assert sorted(pl.read_parquet(tmp_path / "out" / "raw" / "*.parquet")["x"]) == list(range(ROWS))
    counts = pl.read_parquet(tmp_path / "out" / "o" / "*.parquet").sort("joined")
    assert counts["n"].to_list() == [100] * (ROWS // 100)
    steps = list(read_steps(checkpoint))
    assert [figures.step for figures in steps] == list(range(1, len(steps) + 1))
    assert not steps[-1].held


def test_spark_sheds_and_holds_as_this_process_does(spark: SparkSession, tmp_path: Path) -> None:
    net = art.Network("steered")
    fast = net.source("s", {"time": int, "k": int, "x": int}).filter("f", "x >= 0")
    fast.group_by("k").tumble("t", every=3, n="count(*)").output("o")
    fast.output("raw")
    tuples = pl.DataFrame({"time": [n // 40 for n in range(400)], "k": [n % 7 for n in range(400)], "x": range(400)})
    trains = [Train(tuples.filter(pl.col("time") == n), n) for n in range(10)]
    trains.append(Train(tuples.clear(), END))
    shed = {"by_k.out → t.in": Drop(0.3, seed=5), "f.out → raw.in": Drop(keep="x % 2 = 0")}
    host = InProcess(net.value, shards=2, ordered_sources=["s"])
    steps = [host.step({"s": train}, Steering(shed=shed)) for train in trains]
    expected = {name: sorted(row for step in steps for row in step[name].tuples.rows()) for name in ("o", "raw")}
    folder = tmp_path / "c" / FOLDER
    folder.mkdir(parents=True)
    for arc, drop in shed.items():
        control.shed(folder, arc, drop)
    control.hold(folder, "t.out → o.in", 0)
    sinks = {"o": MemorySink(), "raw": MemorySink()}
    running = run(
        net.value, {"s": MemorySource(trains)}, sinks, tmp_path / "c", Settings(shards=2, train_size=40), spark=spark
    )
    assert running.wait(120)
    assert {name: sorted(sink.read().rows()) for name, sink in sinks.items()} == expected
    figures = list(read_steps(tmp_path / "c"))
    assert running.status.shed == {arc: sum(step.shed.get(arc, 0) for step in figures) for arc in shed}
    assert running.status.shed["f.out → raw.in"] == 200
    assert max(step.held.get("t.out → o.in", 0) for step in figures) > 0
    assert not figures[-1].held
    assert figures[-1].slots[-1].state_bytes >= 0
    assert max(slot.state_written for step in figures for slot in step.slots) > 0
