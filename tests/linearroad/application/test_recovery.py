"""A run that is killed at random moments and started again: nothing missing, extra or wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.spark

XWAYS, SECONDS = 1, 420
REPLICAS = 20
"""Enough that trains are handed over in memory and chunks of state are files."""
COPIES = ("--replicate", REPLICAS)
WAYS = ("--shards", 2, *COPIES)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traffic") / "city"
    done = arterial("simulate", "--out", folder, "--xways", XWAYS, "--seconds", SECONDS, "--density", 0.3, "--seed", 3)
    assert done.returncode == 0, done.stderr
    return folder


def arterial(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(*words), capture_output=True, text=True, timeout=2000)


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]


def _killed(city: Path, out: Path, kills: int, speed: float) -> None:
    """Start a run again and again, and kill it as often; then let it come to its end."""
    chance = random.Random(kills)
    words = ("run", "--data", city, "--out", out, "--speed", f"{speed:.2f}", *WAYS)
    for done in range(kills):
        process = subprocess.Popen(_command(*words), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        offsets, clock = out / "work" / "checkpoint" / "spark" / "offsets", out / "work" / "clock.json"
        begun = _steps(offsets)
        while process.poll() is None and not (clock.exists() and _steps(offsets) > begun):
            time.sleep(0.05)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 2.5))
        assert process.poll() is None, f"the run was over after {done} kills: give it more time"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    ended = arterial(*words)
    assert ended.returncode == 0, ended.stderr


def _steps(offsets: Path) -> int:
    return sum(path.name.isdigit() for path in offsets.iterdir()) if offsets.exists() else 0


def _without_emit(out: Path) -> dict[int, list[tuple[int, ...]]]:
    """The answers of each type, in any order, without the time of emission."""
    lines = [line.split(",") for line in (out / "output.csv").read_text().splitlines()]
    place = {0: 3, 1: 2, 2: 2, 3: 2, 4: 2}
    found: dict[int, list[tuple[int, ...]]] = {}
    for fields in lines:
        kind = int(fields[0])
        del fields[place[kind]]
        found.setdefault(kind, []).append(tuple(map(int, fields)))
    return {kind: sorted(rows) for kind, rows in found.items()}


def _check(city: Path, tmp_path: Path, kills: int) -> None:
    began = time.monotonic()
    calm = arterial("run", "--data", city, "--out", tmp_path / "calm", "--speed", "max", *WAYS)
    assert calm.returncode == 0, calm.stderr
    # The clock goes on while nobody runs: it must be slow enough to leave something to do until the last kill.
    _killed(city, tmp_path / "killed", kills, SECONDS / (1.5 * kills * (time.monotonic() - began)))
    assert _without_emit(tmp_path / "killed") == _without_emit(tmp_path / "calm")
    judged = arterial("validate", "--data", city, "--output", tmp_path / "killed", *COPIES, "--untimed")
    assert judged.returncode == 0, judged.stdout
    timed = arterial("validate", "--data", city, "--output", tmp_path / "killed", *COPIES, "--json")
    assert timed.returncode == 1, "an outage of seconds is not hidden"
    verdict = json.loads(timed.stdout)
    counts = {
        name: sum(kind[name] for kind in verdict["types"].values()) for name in ("missing", "extra", "wrong", "late")
    }
    assert counts["late"] > 0
    assert counts["missing"] == counts["extra"] == counts["wrong"] == 0
    assert pl.read_csv(tmp_path / "killed" / "rejects.csv").is_empty()
    parts = tmp_path / "killed" / "work" / "parts"
    assert [path.name for path in parts.iterdir()] == ["journal.json"]


@pytest.mark.slow
def test_killed_twice(city: Path, tmp_path: Path) -> None:
    _check(city, tmp_path, 2)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_killed_twenty_times(city: Path, tmp_path: Path) -> None:
    _check(city, tmp_path, 20)
