"""A full disk at every write, a second driver, an interrupted --force, a stepped clock: in the simulated host."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from arterial.engine.run.checkpoint import lock
from arterial.engine.run.checkpoint.finished import start_over
from arterial.engine.run.checkpoint.folder import make_folder
from arterial.engine.spark.errors import as_run_error
from arterial.engine.steering import offsets
from arterial.errors import ArterialError, RunError
from arterial.storage.disk import using
from arterial.storage.epoch import EPOCH_FILE, take_over
from tests.faults import cases
from tests.faults.host import Case, Host
from tests.faults.recording import Recording, lay_out
from tests.faults.visit import calm

pytestmark = pytest.mark.usefixtures("workers")


def _fill(case: Case, folder: Path, every: int) -> None:
    """Let the disk be full at an operation, then make room and go on."""
    expected, points = calm(case, folder / "calm")
    full = folder / "full"
    for number in range(1, points[-1].number + 1, every):
        full.mkdir()
        said = "nothing: it was no write"
        with using(Recording(full, keep=False, fail_at=number)):
            try:
                Host(case, full).run()
            except (ArterialError, OSError) as fault:
                said = str(as_run_error(fault, full))
        assert "No space left on device" in said or "the disk is full" in said or said.startswith("nothing"), said
        assert not Host(case, full).run().difference(expected, case), number
        shutil.rmtree(full)


@pytest.mark.thorough
@pytest.mark.parametrize(("case", "every"), [("SMALL", 1), ("WHOLE", 13), ("LIVE", 11)])
def test_the_disk_is_full_at_a_write(case: str, every: int, tmp_path: Path) -> None:
    _fill(getattr(cases, case), tmp_path, every)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["WHOLE", "LIVE", "LEDGER", "REPLACED"])
def test_the_disk_is_full_at_every_write(case: str, tmp_path: Path) -> None:
    _fill(getattr(cases, case), tmp_path, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_second_driver_is_fenced_where_locks_do_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(lock.fcntl, "flock", lambda *_: None)
    case = cases.WHOLE
    expected, _ = calm(case, tmp_path / "calm", keep=False)
    folder = tmp_path / "shared"
    folder.mkdir()
    stale, other = Host(case, folder), Host(case, folder)
    recording = Recording(folder, keep=False)
    with using(recording), stale.started():
        for _ in range(steps):
            assert stale.step()
        with other.started():
            other.step()
            written = recording.number
            with pytest.raises(
                RunError, match=r"another run \(process \d+ on .*\) has taken over the checkpoint .*shared"
            ):
                stale.step()
            assert recording.number == written, "the stale driver wrote something"
            with pytest.raises(RunError, match="taken over"):
                stale._head(stale.work, 0, stale._offset(0), stale._offset(0))
    assert not Host(case, folder).run().difference(expected, case)


def test_a_damaged_epoch_is_named(tmp_path: Path) -> None:
    take_over(tmp_path, "one")
    for content in ("", "{}", "[]", '{"epoch": 1'):
        (tmp_path / EPOCH_FILE).write_text(content)
        with pytest.raises(RunError, match=f"damaged: .*{EPOCH_FILE} .*Delete it and start again"):
            take_over(tmp_path, "two")


@pytest.mark.thorough
def test_force_may_be_interrupted_anywhere(tmp_path: Path) -> None:
    """Then the run is refused until --force is said again, or begins from the start."""
    case = cases.WHOLE
    first = tmp_path / "first"
    expected, points = calm(case, first)
    recording = Recording(first)
    with using(recording):
        start_over(first / "checkpoint", case.sinks(first))
    crashed = tmp_path / "crashed"
    refused = 0
    for point in recording.points:
        lay_out(point.remains(), crashed)
        try:
            result = Host(case, crashed).run()
        except RunError as error:
            if "--force" not in str(error):
                raise
            refused += 1
            start_over(crashed / "checkpoint", case.sinks(crashed))
            result = Host(case, crashed).run()
        assert not result.difference(expected, case), point.what
        shutil.rmtree(crashed)
    assert refused > 3
    assert points


@pytest.mark.thorough
@pytest.mark.parametrize("hours", [1, -1])
def test_the_clock_is_stepped_by_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    case = cases.WHOLE
    expected, _ = calm(case, tmp_path / "calm", keep=False)
    clock = {"off": 0.0}
    real = time.time
    monkeypatch.setattr(offsets.time, "time", lambda: real() + clock["off"])
    folder = tmp_path / "stepped"
    folder.mkdir()
    for off in (0.0, hours * 3600.0):
        clock["off"] = off
        host = Host(case, folder)
        with host.started():
            host.step()
    assert not Host(case, folder).run().difference(expected, case)


def test_a_checkpoint_on_a_full_disk_is_refused_with_its_name(tmp_path: Path) -> None:
    with using(Recording(tmp_path, fail_at=1)), pytest.raises(RunError, match="cannot keep a checkpoint in"):
        make_folder(tmp_path / "checkpoint")
