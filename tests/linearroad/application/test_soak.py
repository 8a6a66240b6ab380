"""A long run at constant load: its memory and its checkpoint stay as large as they are.

`ARTERIAL_SOAK_MINUTES` sets how long (20 by default).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arterial.linearroad.rate.meter import Meter

MINUTES = int(os.environ.get("ARTERIAL_SOAK_MINUTES", "20"))
PERIODS = 4
REPLICAS = 8
PEAK_SECOND = 9_600
# A small heap is full soon, so what grows after the first period is not just Java taking what it was given.
HEAP = "1g"


@pytest.mark.slow
@pytest.mark.timeout(60 * (MINUTES + 15))
def test_memory_and_checkpoint_stay_as_large_as_they_are(tmp_path: Path) -> None:
    city, out = tmp_path / "city", tmp_path / "out"
    seconds = 60 * MINUTES + 60
    words = ("--xways", 1, "--seconds", seconds, "--start-at", PEAK_SECOND, "--seed", 7)
    subprocess.run(_command("simulate", "--out", city, *words), check=True, capture_output=True)
    process = subprocess.Popen(
        _command("run", "--data", city, "--out", out, "--replicate", REPLICAS, "--speed", 1),
        env={**os.environ, "SPARK_DRIVER_MEMORY": HEAP},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        memory, disk = [], []
        for _ in range(PERIODS):
            meter = Meter(process.pid)
            most, end = 0, time.monotonic() + 60 * MINUTES / PERIODS
            while time.monotonic() < end:
                assert process.poll() is None, "the run ended before its time"
                time.sleep(2)
                most = max(most, _size(out / "work"))
            memory.append(meter.stop().memory)
            disk.append(most)
        process.wait(300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    told = f"by period: memory {[m >> 20 for m in memory]} MiB, work folder {[d >> 20 for d in disk]} MiB"
    print(told)
    assert max(memory[2:]) <= 1.1 * memory[1], told
    assert max(disk[2:]) <= 1.25 * disk[1], told
    responses = json.loads((out / "run.json").read_text())["responses"].values()
    assert max(answers["worst"] for answers in responses if answers["answers"]) < 5


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]


def _size(folder: Path) -> int:
    """The bytes of all files in a folder; some go while it is looked through."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total
