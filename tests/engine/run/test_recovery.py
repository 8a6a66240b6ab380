"""Nothing is lost: the driver killed at random moments, a worker killed, the disk full."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import psutil
import pytest
from pyspark.sql import SparkSession

from arterial.engine.host.inprocess import InProcess
from arterial.network.train import END, Train
from tests.engine.run.recover import TRAIN_SIZE, go, network, tuples

pytestmark = pytest.mark.spark

STEPS = 12
SCRIPT = Path(__file__).with_name("recover.py")


def _start(folder: Path, checkpoint: Path | None = None) -> subprocess.Popen[bytes]:
    where = [folder / "data.parquet", checkpoint or folder / "checkpoint", folder / "out"]
    return subprocess.Popen([sys.executable, SCRIPT, *where], stderr=subprocess.PIPE)


def _finish(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate(timeout=500)
    assert process.returncode == 0, said.decode()


def _parts(folder: Path) -> dict[str, bytes]:
    paths = (folder / "out").glob("*/part-*") if (folder / "out").exists() else ()
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


def _until(condition: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float = 500.0) -> None:
    patience = time.monotonic() + seconds
    while not condition() and process.poll() is None:
        assert time.monotonic() < patience, "waited in vain"
        time.sleep(0.02)


def _steps_begun(folder: Path) -> int:
    offsets = folder / "checkpoint" / "spark" / "offsets"
    return len([path for path in offsets.iterdir() if path.name.isdigit()]) if offsets.exists() else 0


def _expected(count: int) -> dict[str, pl.DataFrame]:
    return InProcess(network().value).run([{"reports": Train(tuples(count), END)}])


def _check_content(folder: Path, count: int) -> None:
    for name, expected in _expected(count).items():
        paths = sorted((folder / "out" / name).glob("part-*"))
        got = pl.concat([pl.read_parquet(path) for path in paths])
        assert got.height > 0
        assert got.sort(got.columns).equals(expected.sort(expected.columns)), name


def _kill_at_random(folder: Path, kills: int, count: int, seed: int) -> None:
    """Kill the driver so many times, at random moments of its steps."""
    chance = random.Random(seed)
    tuples(count).write_parquet(folder / "data.parquet")
    done = 0
    while done < kills:
        process = _start(folder)
        begun = _steps_begun(folder)
        _until(lambda: _steps_begun(folder) > begun, process)  # noqa: B023
        try:
            process.wait(chance.uniform(0.0, 2.0))
            _finish(process)  # one that failed by itself says why
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()  # type: ignore[union-attr]
            done += 1
    assert done == kills, f"the run was over after {done} kills: give it more tuples"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    tuples(STEPS * TRAIN_SIZE).write_parquet(folder / "data.parquet")
    _finish(_start(folder))
    _check_content(folder, STEPS * TRAIN_SIZE)
    return _parts(folder)


@pytest.mark.slow
def test_the_driver_is_killed(tmp_path: Path, spark: SparkSession) -> None:
    _kill_at_random(tmp_path, 1, STEPS * TRAIN_SIZE // 2, seed=1)
    go(spark, tmp_path / "data.parquet", tmp_path / "checkpoint", tmp_path / "out")
    _check_content(tmp_path, STEPS * TRAIN_SIZE // 2)


@pytest.mark.slow
def test_the_driver_is_killed_three_times(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    _kill_at_random(tmp_path, 3, STEPS * TRAIN_SIZE, seed=1)
    _finish(_start(tmp_path))
    assert _parts(tmp_path) == undisturbed


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_driver_is_killed_twenty_times(tmp_path: Path) -> None:
    count = 120 * TRAIN_SIZE
    (tmp_path / "calm").mkdir()
    tuples(count).write_parquet(tmp_path / "calm" / "data.parquet")
    _finish(_start(tmp_path / "calm"))
    _kill_at_random(tmp_path, 20, count, seed=2)
    _finish(_start(tmp_path))
    _check_content(tmp_path, count)
    assert _parts(tmp_path) == _parts(tmp_path / "calm")


@pytest.mark.slow
def test_a_python_worker_is_killed(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    tuples(STEPS * TRAIN_SIZE).write_parquet(tmp_path / "data.parquet")
    process, killed = _start(tmp_path), 0
    for step in (2, 4, 6):
        _until(lambda: _steps_begun(tmp_path) >= step and len(_task_workers(process)) > 0, process)  # noqa: B023
        assert process.poll() is None
        for worker in _task_workers(process)[:2]:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
                killed += 1
    assert killed
    _finish(process)
    assert _parts(tmp_path) == undisturbed


def _task_workers(driver: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The Python processes that run tasks: forks of the forks of the process that was started for that."""
    forks = [child for child in psutil.Process(driver.pid).children(recursive=True) if _is_fork(child)]
    return [child for child in forks if (parent := child.parent()) in forks and parent.parent() in forks]


def _is_fork(process: psutil.Process) -> bool:
    try:
        return "arterial.engine.spark.start.forks" in process.cmdline()
    except psutil.Error:
        return False


@contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.slow
def test_the_disk_is_full_during_a_checkpoint(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    tuples(STEPS * TRAIN_SIZE).write_parquet(tmp_path / "data.parquet")
    disk = tmp_path / "disk"
    with _small_disk(disk, "24m"):
        ballast = disk / "ballast"
        process = _start(tmp_path, disk / "checkpoint")
        offsets = disk / "checkpoint" / "spark" / "offsets"
        _until(lambda: offsets.exists() and len(list(offsets.iterdir())) > 3, process)
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 1
        assert b"Traceback" not in said
        assert b"disk is full" in said, said
        assert b"start again with the same checkpoint" in said
        ballast.unlink()
        _finish(_start(tmp_path, disk / "checkpoint"))
    assert _parts(tmp_path) == undisturbed
