"""Runs on Spark whose checkpoint is in a store: killed and resumed, attached to, and taken over by a second driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arterial.cli.parts.exit_codes import MISTAKE, USAGE
from arterial.engine.run.checkpoint.manifest import kept_shards
from arterial.engine.run.figures.status import Status, read_status
from arterial.errors import ArterialError
from arterial.storage.place import copy_file, make_folder, put_in_place
from arterial.storage.remote import path_of
from tests.spark_cluster import running_cluster
from tests.stores import RunningStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NETWORK = """
import arterial as art
from tests.engine.tiny import Add

net = art.Network("stored")
rows = net.source("rows", {"time": int, "key": "int32", "value": int})
kept = rows.box(Add("add", poison=7)).connection_point("recent", 100_000)
sums = kept.group_by("key").tumble("sums", every=10, total="sum(value)", n="count(*)")
sums.output("sums_out")
sums.group_by("n").latch("per_n", every=50, groups="count(*)").output("per_n_out")
"""
ROWS, TRAIN = 5000, 500
SECONDS = 400.0


def lines() -> str:
    """Rows, of which every 701st cannot be read, and those with the value 7 cannot be added to."""
    rows = (f"{n // 5},{n % 7},{'?' if n % 701 == 9 else n % 23}" for n in range(ROWS))
    return "\n".join(["time,key,value", *rows]) + "\n"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("calm")
    (folder / "rows.csv").write_text(lines())
    (folder / "net.py").write_text(NETWORK)
    where = ("run", f"{folder}/net.py:net", "--source", f"rows={folder}/rows.csv", "--out", f"{folder}/out")
    subprocess.run(command(*where, "--local", "--set-aside"), check=True, capture_output=True, timeout=SECONDS)
    return results(folder / "out", folder / "out" / "local")


@pytest.fixture
def place(store: RunningStore, tmp_path: Path) -> Path:
    """A folder of the store with the input; the network lies on the machine."""
    if path_of(store.address).parts[0] == "s3:" and not store.spark:
        pytest.skip("Spark's client for S3 is not here: make stores")
    (tmp_path / "net.py").write_text(NETWORK)
    folder = store.folder()
    make_folder(folder)
    put_in_place(folder / "rows.csv", lines())
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "arterial", *arguments]


@dataclass(frozen=True)
class Driver:
    """A run in a process group of its own, and the file with what it says."""

    process: subprocess.Popen[bytes]
    file: Path

    def ends(self) -> int:
        """Its exit code, when it is over."""
        return self.process.wait(SECONDS)

    @property
    def said(self) -> str:
        return self.file.read_text()

    def send(self, number: int) -> None:
        """Send a signal to the run, its Spark and its workers."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


@contextmanager
def started(tmp_path: Path, place: Path, *more: str, point: str = "") -> Iterator[Driver]:
    """A run of which nothing is left in the end."""
    arguments = ["run", f"{tmp_path}/net.py:net", "--source", f"rows={place}/rows.csv", "--out", f"{place}/out"]
    arguments += ["--master", "local[2]", "--shards", "2", "--train-size", str(TRAIN), "--set-aside", *more]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if point:
        environment["ARTERIAL_FAIL_POINT"] = point
    file = tmp_path / f"said-{time.monotonic_ns()}.txt"
    with file.open("wb") as to:
        process = subprocess.Popen(command(*arguments), start_new_session=True, env=environment, stderr=to)
    driver = Driver(process, file)
    try:
        yield driver
    finally:
        driver.send(signal.SIGKILL)
        process.wait()


def wait_for_step(driver: Driver, checkpoint: Path, step: int) -> None:
    until = time.monotonic() + SECONDS
    while (status := status_of(checkpoint)) is None or status.step < step:
        assert driver.process.poll() is None, driver.said
        assert time.monotonic() < until, f"step {step} was not reached"
        time.sleep(0.1)


def status_of(checkpoint: Path) -> Status | None:
    try:
        return read_status(checkpoint)
    except ArterialError:
        return None


def said_by(*arguments: str) -> str:
    found = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=SECONDS)
    assert found.returncode not in (MISTAKE, USAGE), found.stderr
    return found.stdout


def results(out: Path, checkpoint: Path) -> dict[str, Any]:
    """All that a run leaves that must not depend on what happened to it."""
    frames = {name: [path.read_bytes() for path in (out / name).glob("part-*")] for name in ("sums_out", "per_n_out")}
    status = read_status(checkpoint)
    assert status is not None
    answer = [line for line in said_by("attach", str(checkpoint), "recent").splitlines() if not line.startswith("#")]
    rejects = [
        line for path in (checkpoint / "arterial").glob("rejects/*.jsonl") for line in path.read_text().split("\n")
    ]
    return {
        **{name: sorted(pl.concat(pl.read_parquet(part) for part in parts).rows()) for name, parts in frames.items()},
        "recent": sorted(answer),
        "lines": (checkpoint / "arterial" / "sources" / "rows" / "rejects.jsonl").read_text().count("\n"),
        "tuples": sorted(json.loads(line)["tuple"]["value"] for line in rejects if line),
        "counts": (status.state, dict(status.tuples_in), dict(status.tuples_out), status.set_aside),
    }


def test_a_run_is_killed_and_resumed(tmp_path: Path, store: RunningStore, place: Path, calm: dict[str, Any]) -> None:
    checkpoint = place / "out" / "checkpoint"
    with started(tmp_path, place, *store.spark) as run:
        wait_for_step(run, checkpoint, 2)
        assert "stored: running" in said_by("status", str(place / "out"))
        run.send(signal.SIGKILL)
        run.ends()
    assert "ended without a word" in said_by("status", str(place / "out"))
    for point in ("state.chunks-written:2", "step.sinks-committed:2", "task.delivered:5"):
        with started(tmp_path, place, *store.spark, point=point) as run:
            assert run.ends() == -signal.SIGKILL, run.said
    with started(tmp_path, place, *store.spark) as run:
        assert run.ends() == 0, run.said
    assert results(place / "out", checkpoint) == calm
    assert "finished" in said_by("status", str(place / "out"))


def test_a_run_is_stopped_and_goes_on_with_other_shards(
    tmp_path: Path, store: RunningStore, place: Path, calm: dict[str, Any]
) -> None:
    checkpoint = place / "out" / "checkpoint"
    with started(tmp_path, place, *store.spark) as run:
        wait_for_step(run, checkpoint, 3)
        said_by("stop", str(place / "out"), "--wait", "300")
        assert run.ends() == 3, run.said
    with started(tmp_path, place, *store.spark, "--shards", "3") as run:
        assert run.ends() == 0, run.said
    assert kept_shards(checkpoint / "arterial") == 3
    assert results(place / "out", checkpoint) == calm


def test_a_savepoint_under_load_goes_on_elsewhere(
    tmp_path: Path, store: RunningStore, place: Path, calm: dict[str, Any]
) -> None:
    """Its answers and those of the run itself before it are the answers of a calm run."""
    first, second = place / "out", place / "restored"
    with started(tmp_path, place, *store.spark) as run:
        wait_for_step(run, first / "checkpoint", 3)
        said = said_by("savepoint", str(first), str(place / "saved"), "--wait", "300", "--json")
        wait_for_step(run, first / "checkpoint", json.loads(said)["step"])
        run.send(signal.SIGKILL)
        run.ends()
    assert not list((first / "checkpoint" / "arterial" / "linked").glob("*"))
    resumed = command("resume", str(place / "saved"), "--out", str(second))
    done = subprocess.run(resumed, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("sums_out", "per_n_out"):
        since = min(_step(part) for part in (second / name).glob("part-*"))
        before = [part for part in (first / name).glob("part-*") if _step(part) < since]
        make_folder(second / name)
        for part in before:
            copy_file(part, second / name / part.name)
    assert results(second, place / "saved") == calm


def _step(part: Path) -> int:
    return int(part.name.split("-")[1])


def test_a_run_on_a_cluster(tmp_path: Path, store: RunningStore, place: Path, calm: dict[str, Any]) -> None:
    """Input, outputs, connection point and checkpoint in a store, below workers that are processes of their own."""
    checkpoint = place / "out" / "checkpoint"
    with running_cluster(tmp_path) as cluster:
        with started(tmp_path, place, *store.spark, "--master", cluster.address) as run:
            wait_for_step(run, checkpoint, 3)
            run.send(signal.SIGKILL)
            run.ends()
        with started(tmp_path, place, *store.spark, "--master", cluster.address) as run:
            assert run.ends() == 0, run.said
        assert all(executors >= 2 for executors in cluster.executors()), "both workers should have worked, twice"
    assert results(place / "out", checkpoint) == calm


def test_a_second_driver(tmp_path: Path, store: RunningStore, place: Path, calm: dict[str, Any]) -> None:
    """One on the same machine is refused. One on another takes over; the first, cut off meanwhile, changes nothing."""
    checkpoint = place / "out" / "checkpoint"
    with started(tmp_path, place, *store.spark) as first:
        wait_for_step(first, checkpoint, 3)
        first.send(signal.SIGSTOP)
        with started(tmp_path, place, *store.spark) as second:
            assert second.ends() == 1, second.said
            assert f"another run (process {first.process.pid}) uses the checkpoint" in second.said
        note = path_of(checkpoint / "arterial" / "lock")
        put_in_place(note, f"{' '.join(note.read_text().split()[:-1])} elsewhere\n")
        with started(tmp_path, place, *store.spark) as second:
            assert second.ends() == 0, second.said
        first.send(signal.SIGCONT)
        assert first.ends() == 1, first.said
        assert "has taken over the checkpoint" in first.said
    assert results(place / "out", checkpoint) == calm
