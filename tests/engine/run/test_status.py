"""The status of a run: its words, its file, its counts after a crash, and who is no longer running."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest

import arterial as art
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.checkpoint.finished import finished, start_over
from arterial.engine.run.checkpoint.folder import FOLDER, STATUS_FILE, find_checkpoint
from arterial.engine.run.checkpoint.lock import LOCK_FILE, lock_checkpoint
from arterial.engine.run.checkpoint.manifest import write_manifest
from arterial.engine.run.figures.status import StatusFile, read_status
from arterial.engine.run.local import run_locally
from arterial.engine.run.states import STATES
from arterial.errors import RunError
from arterial.figures.step import BoxFigures, OutputFigures, SourceFigures, StepFigures
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train


def _network(condition: str = "x > 1") -> NetworkValue:
    net = art.Network("small")
    net.source("s", {"time": int, "x": int}).filter("f", condition).output("o")
    return net.value


def _trains(network: NetworkValue, count: int = 4) -> MemorySource:
    import polars as pl

    schema = {"time": pl.Int64, "x": pl.Int64}
    trains = [Train(pl.DataFrame({"time": [n, n], "x": [n, 9]}, schema), n) for n in range(count)]
    return MemorySource([*trains, Train(pl.DataFrame(schema=schema), END)])


@art.function(reads=["x"], produces={"y": int})
def _broken(x: int) -> int:
    raise ZeroDivisionError("on purpose")


def _step(step: int, came: int, went: int) -> StepFigures:
    boxes = {"f": BoxFigures({"in": came}, {"out": went}, 0.5)}
    return StepFigures(
        step, 1, 0.0, 1.0, boxes, sources={"s": SourceFigures(came)}, outputs={"o": OutputFigures(went)}, shed={"a": 1}
    )


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    (folder / FOLDER).mkdir(parents=True)
    return folder


def test_the_words_of_a_local_run(tmp_path: Path) -> None:
    network = _network()
    run = run_locally(network, {"s": _trains(network)}, {"o": MemorySink()}, tmp_path)
    assert run.wait(30)
    assert run.state == run.status.state == "finished"
    said = json.loads((tmp_path / STATUS_FILE).read_text())
    assert said["state"] == "finished"
    assert (said["tuples_in"], said["tuples_out"]) == ({"s": 8}, {"o": 6})
    assert said["pid"] == os.getpid()
    assert said["started"] <= said["finished"]
    assert run.statistics.describe()["share"] == 1.0
    assert run.statistics.describe()["event_time"] == 3


def test_a_run_that_is_paused_then_stopped(tmp_path: Path) -> None:
    network = _network()
    source = art.FileSource(_paced_file(tmp_path), speed=1)
    run = run_locally(network, {"s": source}, {"o": MemorySink()}, tmp_path / "c")
    run.pause()
    assert run.state == "paused"
    found = read_status(tmp_path / "c")
    assert found is not None
    assert found.state == "paused"
    run.resume()
    assert run.state == "running"
    run.stop()
    assert run.state == run.status.state == "stopped"


def test_a_run_that_fails(tmp_path: Path) -> None:
    net = art.Network("fails")
    net.source("s", {"time": int, "x": int}).map("m", time="time", y=_broken).output("o")
    run = run_locally(net.value, {"s": _trains(net.value)}, {"o": MemorySink()}, tmp_path)
    with pytest.raises(RunError, match="on purpose"):
        run.wait(30)
    assert run.status.state == "failed"
    assert "on purpose" in str(run.status.error)


def test_a_step_that_is_run_again_is_counted_once(checkpoint: Path) -> None:
    plan = compile_network(_network(), 1)
    first = StatusFile(plan, checkpoint / STATUS_FILE)
    first.add_step(_step(1, 10, 4), {}, {})
    first.add_step(_step(2, 10, 4), {}, {})
    # The process is killed before Spark has committed step 2, which the next one therefore runs again.
    second = StatusFile(plan, checkpoint / STATUS_FILE)
    second.add_step(_step(2, 10, 4), {}, {})
    second.add_step(_step(3, 1, 1), {}, {})
    assert (second.status.tuples_in, second.status.tuples_out) == ({"s": 21}, {"o": 9})
    assert (second.status.boxes, second.status.shed) == ({"f": (21, 9, 1.5)}, {"a": 3})
    assert second.status.started == first.status.started
    assert (first.status.restarts, second.status.restarts) == (0, 1)


def test_a_killed_run_is_not_running(checkpoint: Path) -> None:
    StatusFile(compile_network(_network(), 1), checkpoint / STATUS_FILE)
    with lock_checkpoint(checkpoint / FOLDER):
        found = read_status(checkpoint)
        assert found is not None
        assert found.state == "running"
    found = read_status(checkpoint)
    assert found is not None
    assert found.state == "stopped"
    assert "was killed" in str(found.error)


def test_looking_does_not_disturb_a_start(checkpoint: Path) -> None:
    with (checkpoint / FOLDER / LOCK_FILE).open("w") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        with pytest.raises(RunError, match="another run"):
            lock_checkpoint(checkpoint / FOLDER)
    lock_checkpoint(checkpoint / FOLDER).close()


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"{}", b'{"state": "run', b'{"state": "asleep"}'])
def test_a_damaged_file_says_what_to_do(checkpoint: Path, content: bytes) -> None:
    (checkpoint / STATUS_FILE).write_bytes(content)
    with pytest.raises(RunError, match=r"status.json: is damaged.*or delete it"):
        read_status(checkpoint)


def test_what_is_finished_is_found_and_can_be_started_over(checkpoint: Path) -> None:
    network = _network()
    plan = compile_network(network, 1)
    assert finished(checkpoint, network, {}) is None
    kept = StatusFile(plan, checkpoint / STATUS_FILE)
    write_manifest(checkpoint / FOLDER, plan)
    assert finished(checkpoint, network, {}) is None
    kept.become("finished")
    found = finished(checkpoint, network, {})
    assert found is not None
    assert found.already_finished().startswith("already finished, 0 tuples in, 0 out, at 20")
    assert found.already_finished().endswith(" UTC; --force starts over")
    assert finished(checkpoint, _network("x > 2"), {}) is None
    (checkpoint / "mine.txt").write_text("not a run's")
    part = checkpoint.parent / "o" / "part-000000001-000.csv"
    part.parent.mkdir()
    part.write_text("x\n")
    start_over(checkpoint, {"o": art.FileSink(part.parent, "csv")})
    assert [path.name for path in checkpoint.iterdir()] == ["mine.txt"]
    assert not part.exists()
    with pytest.raises(RunError, match="not the checkpoint of a run"):
        start_over(checkpoint, {})


def test_the_folder_of_a_run_is_found(tmp_path: Path) -> None:
    for place in (".", "checkpoint", "work/checkpoint", "local"):
        folder = tmp_path / place.replace("/", "-") / place
        (folder / FOLDER).mkdir(parents=True)
        (folder / STATUS_FILE).write_text("{}")
        assert find_checkpoint(tmp_path / place.replace("/", "-")) == folder
    with pytest.raises(RunError, match="no run is there"):
        find_checkpoint(tmp_path / "nowhere")


def test_there_are_five_words() -> None:
    assert STATES == ("running", "paused", "stopped", "finished", "failed")


def _paced_file(folder: Path) -> Path:
    path = folder / "s.csv"
    path.write_text("time,x\n" + "".join(f"{n},{n}\n" for n in range(1000)))
    return path
