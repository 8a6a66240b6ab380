"""Fail points: the whole run, Java with it, is killed at each; it goes on, and its files are those of a calm run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from arterial.storage.fail_point import VARIABLE, fail_point
from tests.faults import driver
from tools.fail_points import fail_points

ROOT = Path(__file__).parents[2]
EVERY = list(fail_points())
REACHED = [name for name in EVERY if not name.startswith("settle.")]
"""Points that a run comes to whose network is replaced on the way; `settle` needs an overload
(tests/engine/run/test_steering_on_spark.py)."""

FEW = 5
"""Steps of a run that is killed only once."""


def test_a_fail_point_does_nothing_unless_it_is_named() -> None:
    for name in EVERY:
        fail_point(name)


def test_every_fail_point_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "faults.md").read_text()
    assert re.findall(r"^\| `([a-z.-]+)` \| `[\w/.]+\.py`", text, re.MULTILINE) == EVERY


def test_a_fail_point_kills_the_process_group_of_the_driver() -> None:
    code = """
import os, subprocess, sys
child = [sys.executable, "-c", "import os; os.setpgid(0, 0); from arterial.storage.fail_point import fail_point;"
         "fail_point('there'); print('once', flush=True); fail_point('there'); print('twice', flush=True)"]
from arterial.storage import fail_point
subprocess.run(child)
print("the driver lives", flush=True)
"""
    environment = {**os.environ, VARIABLE: "there:2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, start_new_session=True, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["once"]


def _run(kind: str, folder: Path, point: str = "", steps: int = 40) -> int:
    """Run to the end, or until it is killed at a point; the exit code."""
    environment = {**os.environ, VARIABLE: point} if point else {**os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.driver", kind, folder, str(steps)],
        env=environment,
        start_new_session=True,
        capture_output=True,
        cwd=ROOT,
        timeout=1500,
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(done.stderr.decode())
    return done.returncode


def _kill_at_each(kind: str, folder: Path, points: Iterable[str], steps: int = 40) -> None:
    """Start a run again and again; each start is killed at the next point."""
    for point in points:
        assert _run(kind, folder, point, steps) == -signal.SIGKILL, f"{point} was not reached"


@pytest.fixture
def undisturbed(tmp_path: Path, spark: SparkSession) -> dict[str, object]:
    """What a run of the drawn network leaves that nobody disturbed."""
    (tmp_path / "calm").mkdir()
    driver.drawn(tmp_path / "calm", spark, FEW)
    left = driver.left_by("drawn", tmp_path / "calm")
    assert left["rejects"] == 2
    return left


@pytest.mark.spark
@pytest.mark.thorough
def test_a_run_is_killed_at_a_point(tmp_path: Path, undisturbed: dict[str, object], spark: SparkSession) -> None:
    _kill_at_each("drawn", tmp_path, ["state.index-updated:2"], FEW)
    driver.drawn(tmp_path, spark, FEW)
    assert driver.left_by("drawn", tmp_path) == undisturbed


def _data(kind: str, folder: Path) -> None:
    """What a run reads; some of it is dirty."""
    folder.mkdir()
    if kind == "city":
        command = ["linear-road", "simulate", "--out", folder / "made", "--xways", 1, "--seconds", 120]
        _arterial(*command, "--density", 0.3, "--seed", 3)
        _arterial("linear-road", "convert", folder / "made", "--out", folder / "city.csv")
        _soil(folder / "city.csv", "0,12,not a number,1,2,3\n")
    elif kind == "moving":
        queries = ("--ranges", 20, "--moving-ranges", 20, "--knn", 10, "--moving-knn", 10)
        _arterial("moving", "generate", "--out", folder / "events.csv", "--objects", 300, "--seconds", 40, *queries)
        _soil(folder / "events.csv", "12,object,what,where\n")


def _arterial(*words: object) -> None:
    command = [sys.executable, "-m", "arterial", *map(str, words)]
    subprocess.run(command, capture_output=True, cwd=ROOT, timeout=1500, check=True)


def _soil(path: Path, line: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:500], line, *lines[500:]]))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("kind", "times"), [("drawn", 1), ("drawn", 3), ("city", 2), ("moving", 2)])
def test_a_run_is_killed_at_every_point(kind: str, times: int, tmp_path: Path) -> None:
    """In the order in which a run comes to them, so that every start goes further than the one before."""
    folder = tmp_path / "killed"
    _data(kind, folder)
    shutil.copytree(folder, tmp_path / "calm")
    assert _run(kind, tmp_path / "calm") == 0
    calm = driver.left_by(kind, tmp_path / "calm")
    assert calm["rejects"]
    late = ["task.rejects-written", "end.reached", "end.sinks-finished"]
    once = ("start.", "replace.")
    early = [name if name.startswith(once) else f"{name}:{times}" for name in REACHED if name not in late]
    _kill_at_each(kind, folder, [*early, *late])
    assert _run(kind, folder) == 0
    assert driver.left_by(kind, folder) == calm
