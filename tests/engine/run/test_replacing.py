"""The driver is killed around replacements of its network, and the same command goes on: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.versions.optimizer import read_log
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.network.train import END, Train
from arterial.storage.fail_point import VARIABLE
from tests.engine.run.replacing import badly_drawn, first, second, tuples
from tools.fail_points import fail_points

pytestmark = pytest.mark.spark
SCRIPT = Path(__file__).with_name("replacing.py")


def _start(folder: Path, *mode: str) -> subprocess.Popen[str]:
    where = [folder / "data.parquet", folder / "checkpoint", folder / "out", *mode]
    return subprocess.Popen([sys.executable, SCRIPT, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _kill_after(process: subprocess.Popen[str], said: str, seconds: float) -> None:
    """Kill a driver so many seconds after it has printed a line."""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == said:
                break
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)


def _read(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*"))])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_around_replacements(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tuples().write_parquet(tmp_path / "data.parquet")
    for said in ("second", "third"):
        _kill_after(_start(tmp_path), said, chance.choice((0.0, 0.05, chance.uniform(0.0, 1.5))))
    _goes_on_to_the_right_end(tmp_path, "3")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", [name for name in fail_points() if name.startswith("replace.")])
def test_killed_at_every_point_of_a_replacement(tmp_path: Path, point: str) -> None:
    """Once in the first replacement and once in the second; the whole process group, Java too."""
    tuples().write_parquet(tmp_path / "data.parquet")
    environment = {**os.environ, VARIABLE: point}
    exists = point != "replace.packed"  # else every start is killed in the first replacement
    for _ in range(2 if exists else 1):
        command = [sys.executable, SCRIPT, *(tmp_path / name for name in ("data.parquet", "checkpoint", "out"))]
        done = subprocess.run(command, env=environment, start_new_session=True, capture_output=True, timeout=300)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    _goes_on_to_the_right_end(tmp_path, "3" if exists else "1")


def _goes_on_to_the_right_end(tmp_path: Path, version: str) -> None:
    process = _start(tmp_path)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert f"started with version {version}" in out
    whole = InProcess(first().value).run([{"reports": Train(tuples(), END)}])
    got = _read(tmp_path / "out" / "sums_out")
    assert got.sort(got.columns).equals(whole["sums_out"].sort(got.columns))
    assert InProcess(second().value).run([{"reports": Train(tuples(), END)}])["sums_out"].equals(whole["sums_out"])
    # High values came until version 2 and again from version 3 on, whole steps at a time, to two sinks.
    early, late = (_read(tmp_path / "out" / name) for name in ("high_out", "high_again"))
    high = whole["high_out"]
    both = pl.concat(
        [high.filter(high["time"] <= early["time"].max()), high.filter(high["time"] >= late["time"].min())]
    )
    found = pl.concat([early, late])
    assert found.sort(found.columns).equals(both.sort(found.columns))
    assert 0 < early.height < high.height - late.height < high.height
    assert sorted(path.name[:4] for path in (tmp_path / "checkpoint/arterial/networks").iterdir())[-1] == "0003"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_when_the_optimizer_changes_the_network(tmp_path: Path) -> None:
    tuples().write_parquet(tmp_path / "data.parquet")
    _kill_after(_start(tmp_path, "optimise"), "changed", 0.02)
    process = _start(tmp_path, "optimise")
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "started with version 2" in out
    whole = InProcess(badly_drawn().value).run([{"reports": Train(tuples(), END)}])["sums_out"]
    got = _read(tmp_path / "out" / "sums_out")
    assert got.sort(got.columns).equals(whole.sort(got.columns))
    offsets = last_offsets(tmp_path / "checkpoint" / "spark", 1000)
    begun = min(offset["step"] for offset in offsets if offset["version"] == 2)
    decided = [line for line in read_log(tmp_path / "checkpoint" / "arterial") if "tactics" in line]
    # The line is written after the change is accepted, and the kill may have come between.
    assert all(line["tactics"][0] == "reorder" and begun <= line["step"] + 2 for line in decided)
    assert begun < 12
