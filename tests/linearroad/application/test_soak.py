"""A long run at constant load: its memory stays as large as it is, and its checkpoint but for the accounts.

Every vehicle that was ever seen has an account that may be asked for, so the state grows with each new one, by a few
tens of bytes; it lies in as many snapshots as Spark keeps, and in the changes between them. Nothing else may grow.
`ARTERIAL_SOAK_MINUTES` sets how long (20 by default).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from arterial.linearroad.rate.meter import Meter

pytestmark = pytest.mark.spark

MINUTES = int(os.environ.get("ARTERIAL_SOAK_MINUTES", "20"))
PERIODS = 4
REPLICAS = 8
PEAK_SECOND = 9_600
# A small heap is full soon, so what grows after the first period is not just Java taking what it was given.
HEAP = "1g"
BYTES_PER_ACCOUNT = 512
"""What a new account may take in all snapshots and changes together."""


@pytest.mark.slow
@pytest.mark.timeout(60 * (MINUTES + 15))
def test_memory_is_flat_and_the_checkpoint_grows_with_accounts_alone(tmp_path: Path) -> None:
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
        memory, disk, files = [], [], []
        for _ in range(PERIODS):
            meter = Meter(process.pid)
            most, many, end = 0, 0, time.monotonic() + 60 * MINUTES / PERIODS
            while time.monotonic() < end:
                assert process.poll() is None, "the run ended before its time"
                time.sleep(2)
                size, count = _size(out / "work")
                most, many = max(most, size), max(many, count)
            memory.append(meter.stop().memory)
            disk.append(most)
            files.append(many)
        process.wait(300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    accounts = REPLICAS * _vehicles_since(city, 60 * MINUTES // 2)
    told = (
        f"by period: memory {[m >> 20 for m in memory]} MiB, work folder {[d >> 20 for d in disk]} MiB "
        f"in {files} files; {accounts:,} new accounts in the last two"
    )
    print(told)
    assert max(memory[2:]) <= 1.1 * memory[1], told
    assert max(files[2:]) <= 1.1 * files[1], told
    assert max(disk[2:]) <= disk[1] + BYTES_PER_ACCOUNT * accounts, told
    responses = json.loads((out / "run.json").read_text())["responses"].values()
    assert max(answers["worst"] for answers in responses if answers["answers"]) < 5


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]


def _vehicles_since(city: Path, second: int) -> int:
    """How many vehicles report for the first time from a second on."""
    reports = pl.scan_parquet(city / "events" / "*.parquet").filter(pl.col("type") == 0)
    first = reports.group_by("vid").agg(pl.col("time").min())
    return int(first.filter(pl.col("time") >= second).select(pl.len()).collect().item())


def _size(folder: Path) -> tuple[int, int]:
    """The bytes of all files in a folder, and their number; some go while it is looked through."""
    total = count = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
        count += 1
    return total, count
