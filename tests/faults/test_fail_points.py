"""Fail points: the whole run, Java with it, is killed at each; it goes on, and its files are those of a calm run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from arterial.storage.fail_point import VARIABLE, fail_point
from tests.faults import driver
from tools.fail_points import fail_points

ROOT = Path(__file__).parents[2]
EVERY = list(fail_points())
ON_DRAWN = [name for name in EVERY if not name.startswith(("replace.", "settle."))]
"""Points that a run reaches by itself. Those of `replace` need another version of the network, and those of `settle` an
overload (tests/engine/run/test_steering_on_spark.py)."""


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


def _run(command: list[object], point: str = "") -> int:
    """Run a command, killed at a point if one is named; its exit code."""
    environment = {**os.environ, VARIABLE: point} if point else {**os.environ}
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        start_new_session=True,
        capture_output=True,
        cwd=ROOT,
        timeout=300,
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(done.stderr.decode())
    return done.returncode


def _places(folder: Path) -> tuple[Path, Path, Path]:
    """Data, checkpoint and outputs of the drawn network's run."""
    if not (folder / "data.parquet").exists():
        driver.tuples().write_parquet(folder / "data.parquet")
    return folder / "data.parquet", folder / "checkpoint", folder / "out"


def _drawn(folder: Path) -> list[object]:
    return [sys.executable, "-m", "tests.faults.driver", *_places(folder)]


def _outputs(folder: Path) -> dict[str, pl.DataFrame | bytes | int]:
    """What a user sees of the drawn network's run."""
    points = sorted((folder / "checkpoint" / "points" / "recent").glob("part-*"))
    rejects = (folder / "checkpoint" / "arterial" / "rejects").glob("part-*")
    return {
        "sums": (folder / "out" / "sums.csv").read_bytes(),
        "per_n": (folder / "out" / "per_n.parquet").read_bytes(),
        "high": b"".join(path.read_bytes() for path in sorted((folder / "out" / "high").glob("[!.]*"))),
        "points": sum(pl.read_parquet(path).height for path in points),
        "rejects": len([line for path in rejects for line in path.read_text().splitlines()]),
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> dict[str, pl.DataFrame | bytes | int]:
    """What a run leaves that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    driver.go(spark, *_places(folder))
    outputs = _outputs(folder)
    assert outputs["rejects"] == 1
    assert outputs["points"] == driver.TUPLES - 1
    return outputs


@pytest.mark.spark
@pytest.mark.thorough
def test_a_run_is_killed_at_some_points(
    tmp_path: Path, undisturbed: dict[str, pl.DataFrame | bytes | int], spark: SparkSession
) -> None:
    for point in ("step.sinks-committed:2", "state.index-updated"):
        assert _run(_drawn(tmp_path), point) == -signal.SIGKILL, f"{point} was not reached"
    driver.go(spark, *_places(tmp_path))
    assert _outputs(tmp_path) == undisturbed


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("point", ON_DRAWN)
def test_a_drawn_network_is_killed_at_every_point(
    point: str, times: int, tmp_path: Path, undisturbed: dict[str, pl.DataFrame | bytes | int], spark: SparkSession
) -> None:
    killed = _run(_drawn(tmp_path), f"{point}:{times}") == -signal.SIGKILL
    assert killed or times > 1, f"{point} was not reached"
    driver.go(spark, *_places(tmp_path))
    assert _outputs(tmp_path) == undisturbed


def _arterial(*arguments: object) -> list[object]:
    return [sys.executable, "-m", "arterial", *arguments]


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traffic of one expressway, and the answers of an undisturbed run."""
    folder = tmp_path_factory.mktemp("city")
    assert _run(_arterial("linear-road", "simulate", "--out", folder / "city", "--xways", 1, "--seconds", 240)) == 0
    assert _run(_linear_road(folder, folder / "calm")) == 0
    return folder


def _linear_road(folder: Path, out: Path) -> list[object]:
    return _arterial("linear-road", "run", "--data", folder / "city", "--out", out, "--speed", "max", "--shards", 2)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("point", ON_DRAWN)
def test_linear_road_is_killed_at_every_point(point: str, city: Path, tmp_path: Path) -> None:
    _run(_linear_road(city, tmp_path / "out"), f"{point}:2")
    assert _run(_linear_road(city, tmp_path / "out")) == 0

    def answers(out: Path) -> list[str]:
        """Without the time of emission, which is the clock's."""
        lines = [line.split(",") for path in sorted(out.glob("output*.csv")) for line in path.read_text().splitlines()]
        return sorted(",".join([*fields[:3], *fields[4:]]) for fields in lines)

    assert answers(tmp_path / "out") == answers(city / "calm")


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Moving objects and queries, and the updates of an undisturbed run."""
    folder = tmp_path_factory.mktemp("moving")
    assert _run(_arterial("moving", "generate", "--out", folder / "events.csv", "--objects", 300)) == 0
    assert _run(_moving(folder, folder / "calm")) == 0
    return folder


def _moving(folder: Path, out: Path) -> list[object]:
    out.mkdir(exist_ok=True)
    where = ["--out", out / "updates.csv", "--checkpoint", out / "checkpoint", "--train-size", 1500]
    return _arterial("moving", "run", folder / "events.csv", *where)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("point", ON_DRAWN)
def test_moving_queries_are_killed_at_every_point(point: str, moving: Path, tmp_path: Path) -> None:
    _run(_moving(moving, tmp_path / "out"), f"{point}:2")
    assert _run(_moving(moving, tmp_path / "out")) == 0
    assert (tmp_path / "out" / "updates.csv").read_bytes() == (moving / "calm" / "updates.csv").read_bytes()
