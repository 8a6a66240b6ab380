"""A long run with random faults loses, doubles and invents nothing: every source row carries its number to outputs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = Path(__file__).with_name("lineage.py")
MINUTES = float(os.environ.get("ARTERIAL_SOAK_MINUTES", "30"))
ROWS = 5_000
"""In a file; one comes every half second."""


@pytest.mark.timeout(60 * MINUTES + 900)
def test_nothing_is_lost_doubled_or_invented(tmp_path: Path) -> None:
    chance = random.Random(int(os.environ.get("ARTERIAL_SOAK_SEED", "1")))
    (tmp_path / "data").mkdir()
    process, files, until, faults = _start(tmp_path), 0, time.monotonic() + 60 * MINUTES, 0
    next_fault = time.monotonic() + 40
    while time.monotonic() < until:
        _add_file(tmp_path / "data", files)
        files += 1
        if process.poll() is not None:  # without the process that plans its steps it cannot go on
            said = process.communicate()[1].decode()
            assert "plans the steps died" in said, f"it ended by itself: {said}"
            process = _start(tmp_path)
        if time.monotonic() > next_fault:
            process = _disturb(process, tmp_path, chance)
            faults += 1
            next_fault = time.monotonic() + chance.uniform(5, 60)
        time.sleep(0.5)
    (tmp_path / "data" / "_END").touch()
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said.decode()
    assert faults >= MINUTES / 2, "it was hardly disturbed"
    _check(tmp_path / "out", files * ROWS)


def _start(folder: Path) -> subprocess.Popen[bytes]:
    where = [folder / "data", folder / "checkpoint", folder / "out"]
    return subprocess.Popen([sys.executable, SCRIPT, *where], stderr=subprocess.PIPE, start_new_session=True)


def _add_file(folder: Path, number: int) -> None:
    n = pl.int_range(number * ROWS, (number + 1) * ROWS, eager=True)
    rows = pl.DataFrame({"time": n // 1000, "key": ((n * 7919) % 211).cast(pl.Int32), "n": n})
    draft = folder / f".{number:06d}"
    rows.write_parquet(draft)
    draft.rename(folder / f"{number:06d}.parquet")


def _disturb(process: subprocess.Popen[bytes], folder: Path, chance: random.Random) -> subprocess.Popen[bytes]:
    """Kill everything and start again, kill a process of the run, or let one sleep for a while."""
    below = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in below if _is_python(child)]
    fault = chance.choice(("all", "all", "worker", "sleep"))
    if fault == "all" or not workers:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]
        psutil.wait_procs(below, timeout=60)
        return _start(folder)
    one = chance.choice(workers)
    try:
        if fault == "worker":
            one.kill()
        else:
            one.suspend()
            time.sleep(chance.uniform(1, 8))
            one.resume()
    except psutil.NoSuchProcess:
        pass
    return process


def _is_python(process: psutil.Process) -> bool:
    try:
        return "python" in process.name() and process.is_running()
    except psutil.NoSuchProcess:
        return False


def _check(out: Path, count: int) -> None:
    passed, windows, pairs = (_read(out / name) for name in ("passed", "windows", "pairs"))
    assert passed["n"].sort().equals(pl.int_range(count, eager=True).alias("n")), "every row once"
    expected = (
        passed.sort("n")
        .group_by("key", window=pl.col("time") // 10)
        .agg(n=pl.len().cast(pl.Int64), total=pl.sum("n"), least=pl.min("n"), most=pl.max("n"))
    )
    columns = ["key", "n", "total", "least", "most"]
    assert windows.select(columns).sort(columns).equals(expected.select(columns).sort(columns)), "every row in a window"
    assert pairs["first"].sort().equals(pl.int_range(count - 7, eager=True).alias("first")), "every row with its next"
    assert (pairs["second"] - pairs["first"] == 7).all()


def _read(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*"))])
