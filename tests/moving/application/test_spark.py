"""Moving queries on Spark: the answers are right, and nothing is lost or doubled when the driver is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import Result

from arterial.errors import ArterialError, DataError, RunError
from arterial.moving.application.network import QueryOptions
from arterial.moving.application.run import JobSummary, MovingRun, RunOptions, finished
from arterial.moving.files.run import run_file
from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import Sign, Update
from arterial.moving.queries.ids import parsed_id
from tests.moving.application.test_application import write_world
from tests.moving.feeding import Follower
from tests.moving.worlds import World, random_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TIMEOUT = 3.0
TRAIN_SIZE = 60


def options_of(folder: Path, **others: Any) -> RunOptions:
    paths = [folder / name for name in ("events.csv", "out.csv", "checkpoint", "rejects.csv")]
    options = RunOptions(paths[0], paths[1], paths[2], paths[3], QueryOptions(timeout=TIMEOUT), train_size=TRAIN_SIZE)
    return replace(options, **others)


def run(options: RunOptions, spark: SparkSession) -> JobSummary:
    running = MovingRun(options, spark=spark)
    running.wait()
    return running.finish()


def expected_updates(folder: Path, events: Path) -> bytes:
    run_file(events, folder / "expected.csv", rejects=folder / "expected.rejects.csv", timeout=TIMEOUT)
    return (folder / "expected.csv").read_bytes()


def test_it_answers_by_the_definition_and_as_one_process_does(tmp_path: Path, spark: SparkSession) -> None:
    write_world(tmp_path / "events.csv", 3)
    summary = run(options_of(tmp_path), spark)
    written = (tmp_path / "out.csv").read_bytes()
    assert written == expected_updates(tmp_path, tmp_path / "events.csv")
    assert _holds(random_world(3), written.decode())
    assert summary.updates == len(written.splitlines())
    assert summary.steps > 3
    assert finished(options_of(tmp_path)) == summary
    refused: list[tuple[dict[str, Any], str]] = [
        ({"queries": QueryOptions(timeout=4.0)}, r"timeout was 3\.0 and is 4\.0"),
        ({"speed": 2.0}, r"speed was max and is 2\.0"),
    ]
    for changed, message in refused:
        with pytest.raises(RunError, match=message):
            MovingRun(options_of(tmp_path, **changed), spark=spark)
    (tmp_path / "out.csv").write_text("1,q,+,1\n")
    with pytest.raises(RunError, match="not the file that it wrote"):
        finished(options_of(tmp_path))
    write_world(tmp_path / "events.csv", 4)
    with pytest.raises(RunError, match="events was"):
        MovingRun(options_of(tmp_path), spark=spark)


def test_a_smaller_cache_in_real_time(tmp_path: Path, spark: SparkSession) -> None:
    write_world(tmp_path / "events.csv", 5, units=8)
    options = options_of(tmp_path, queries=QueryOptions(cache=0.0), speed=40.0, train_size=10_000)
    summary = run(options, spark)
    expected = run_file(options.events, tmp_path / "expected.csv", rejects=tmp_path / "r.csv", cache=0.0)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert summary.accuracy == pytest.approx(expected.accuracy)
    assert 0.0 < summary.delay_p50 <= summary.delay_p99 <= summary.delay_worst < 60.0


def test_what_cannot_be_written_is_told(tmp_path: Path, spark: SparkSession) -> None:
    write_world(tmp_path / "events.csv", 3)
    (tmp_path / "file").touch()
    with pytest.raises(ArterialError, match="cannot be written"):
        MovingRun(RunOptions(tmp_path / "events.csv", tmp_path / "file" / "out", tmp_path / "a", tmp_path / "r",
                             QueryOptions()), spark=spark)  # fmt: skip
    with pytest.raises(ArterialError, match="cannot be written"):
        MovingRun(RunOptions(tmp_path / "events.csv", tmp_path / "o", tmp_path / "file" / "a", tmp_path / "r",
                             QueryOptions()), spark=spark)  # fmt: skip
    (tmp_path / "exact.csv").write_text("0.1234567891234,object,1,0,0\n")
    for name, message in (("exact.csv", "nine decimals"), ("events.csv", "cannot be written")):
        with pytest.raises(ArterialError, match=message):  # the first leaves the checkpoint free for the second
            MovingRun(RunOptions(tmp_path / name, tmp_path / "file" / "o", tmp_path / "c", tmp_path / "r",
                                 QueryOptions()), spark=spark)  # fmt: skip
    with pytest.raises(DataError, match="no such file"):
        MovingRun(RunOptions(tmp_path / "none", tmp_path / "o", tmp_path / "b", tmp_path / "r", QueryOptions()),
                  spark=spark)  # fmt: skip


def test_the_folder_of_the_updates_is_gone_and_comes_back(tmp_path: Path, spark: SparkSession) -> None:
    write_world(tmp_path / "events.csv", 3)
    (tmp_path / "sub").mkdir()
    options = replace(options_of(tmp_path), out=tmp_path / "sub" / "out.csv")
    running = MovingRun(options, spark=spark)
    shutil.rmtree(tmp_path / "sub")
    with pytest.raises(RunError, match=r"another run .* uses the checkpoint"):
        MovingRun(options, spark=spark)
    with pytest.raises(RunError, match=r"out\.csv: cannot be written: No such file"):
        running.wait()
    assert not running.ended
    (tmp_path / "sub").mkdir()
    if running._updates.size:
        options.out.write_bytes(expected_updates(tmp_path, options.events)[: running._updates.size])
    run(options, spark)
    assert options.out.read_bytes() == expected_updates(tmp_path, options.events)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_driver_is_killed_three_times(tmp_path: Path, here: Callable[..., Result]) -> None:
    _kill_at_random(tmp_path, here, kills=3, units=400, seed=1, train_size=300)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_driver_is_killed_twenty_times(tmp_path: Path, here: Callable[..., Result]) -> None:
    _kill_at_random(tmp_path, here, kills=20, units=3000, seed=2, train_size=200)


def _kill_at_random(
    folder: Path, here: Callable[..., Result], kills: int, units: int, seed: int, train_size: int
) -> None:
    """Kill the driver so many times, at random moments of its steps; then let it come to its end."""
    chance, done = random.Random(seed), 0
    write_world(folder / "events.csv", seed, units=units)
    while done < kills:
        process = _start(folder, train_size)
        begun, patience = _steps_begun(folder), time.monotonic() + 300
        while _steps_begun(folder) == begun and process.poll() is None:
            assert time.monotonic() < patience, "waited in vain"
            time.sleep(0.02)
        try:
            process.wait(chance.uniform(0.0, 1.5))
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            done += 1
    assert done == kills, f"the run was over after {done} kills: give it more units"
    last = here(*_words(train_size))
    assert last.exit_code == 0, last.stderr
    said = last.stdout
    assert json.loads(said)["resumed"]
    written = (folder / "out.csv").read_bytes()
    assert written == expected_updates(folder, folder / "events.csv")
    assert json.loads(said)["updates"] == len(written.splitlines()) > 10 * kills
    assert (folder / "out.csv.rejects.csv").read_bytes() == (folder / "expected.rejects.csv").read_bytes()


def _words(train_size: int) -> list[str]:
    where = ["events.csv", "--out", "out.csv", "--checkpoint", "checkpoint", "--timeout", str(TIMEOUT), "--json"]
    return ["moving", "run", *where, "--train-size", str(train_size)]


def _start(folder: Path, train_size: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "arterial", *_words(train_size)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _steps_begun(folder: Path) -> int:
    offsets = folder / "checkpoint" / "spark" / "offsets"
    return max((int(path.name) + 1 for path in offsets.glob("*") if path.name.isdigit()), default=0)


def _holds(world: World, written: str) -> bool:
    """Do the updates build the answers by definition at every time unit?"""
    updates = [
        Update(float(t), parsed_id(name), Sign(sign), parsed_id(identity))
        for t, name, sign, identity in (text.split(",") for text in written.splitlines())
    ]
    definition, follower = BruteForce(timeout=TIMEOUT), Follower()
    for t, unit in world:
        if unit:
            definition.take(t, unit)
            follower.follow(update for update in updates if update.t == t)
            if not follower.holds(definition.answers()):
                return False
    return bool(updates)
