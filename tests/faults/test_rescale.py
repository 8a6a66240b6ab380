"""A run goes on with another number of shards, and is killed anywhere on the way: nothing is lost or doubled."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arterial.engine.run.checkpoint import rescale
from arterial.engine.run.checkpoint.manifest import kept_shards
from arterial.engine.state import regroup as state_regroup
from arterial.errors import RunError
from arterial.storage.disk import using
from arterial.storage.epoch import take_over
from tests.faults import cases
from tests.faults.host import Case, Host
from tests.faults.recording import KILLED, POWER_CUTS, Recording
from tests.faults.visit import calm, visit

pytestmark = pytest.mark.usefixtures("workers")


def with_shards(case: Case, shards: int) -> Case:
    """The same case; what is left in an order or a state of its own by each shard is compared without that."""
    return replace(case, shards=shards, same_steps=False, same_states=False)


def go(case: Case, folder: Path, shards: int, steps: int) -> None:
    """Start a run, and stop it after some steps."""
    folder.mkdir(exist_ok=True)
    with Host(with_shards(case, shards), folder).started() as host:
        for _ in range(steps):
            assert host.step()


@pytest.mark.parametrize("case", ["WHOLE"])
def test_shards_come_and_go(case: str, tmp_path: Path) -> None:
    network: Case = getattr(cases, case)
    expected, _ = calm(network, tmp_path / "calm", keep=False)
    folder = tmp_path / "rescaled"
    for shards, steps in ((2, 1), (3, 1), (4, 0), (1, 0)):
        go(network, folder, shards, steps)
        assert kept_shards(folder / "checkpoint" / "arterial") == shards
    last = with_shards(network, 2)
    assert not Host(last, folder).run().difference(expected, last)


def visit_all(folder: Path, every: int, *, cuts: tuple[str, ...] = (KILLED,)) -> None:
    """Go on from each crash point, or some, of a start with another number of shards and its first step."""
    network, durable = cases.WHOLE, cuts != (KILLED,)
    expected, _ = calm(network, folder / "calm", keep=False)
    other = with_shards(network, 3)
    go(network, folder / "rescaled", 2, 1)
    recording = Recording(folder / "rescaled")
    with using(recording), Host(other, folder / "rescaled", durable=durable).started() as host:
        assert host.step()
    for mode in cuts:
        points = recording.points[::every]
        visits = visit(other, expected, points, folder / f"crashed {mode}", mode=mode, durable=durable)
        assert visits.visited > 30 // every


@pytest.fixture(params=["renamed", "copied"])
def put_there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the new state takes the place of the old one: as on a disk, and as on S3, which renames no folders."""
    if request.param == "copied":
        monkeypatch.setattr(rescale, "renames_folders", lambda folder: False)


@pytest.mark.thorough
@pytest.mark.usefixtures("put_there")
def test_some_crash_points_of_it(tmp_path: Path) -> None:
    visit_all(tmp_path, every=8)


@pytest.mark.slow
@pytest.mark.usefixtures("put_there")
def test_every_crash_point_of_it(tmp_path: Path) -> None:
    visit_all(tmp_path, every=1)


def test_a_driver_that_was_taken_over_meanwhile_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a store nothing keeps a second driver off, which may have removed a part of the draft."""
    go(cases.WHOLE, tmp_path / "run", 2, 1)
    own = tmp_path / "run" / "checkpoint" / "arterial"

    def regroup(*given: Any) -> Any:
        take_over(own, "another")
        return state_regroup.regroup(*given)

    with monkeypatch.context() as patched:
        patched.setattr(rescale, "regroup", regroup)
        with pytest.raises(RunError, match="has taken over the checkpoint"):
            go(cases.WHOLE, tmp_path / "run", 3, 1)
    assert kept_shards(own) == 2
    assert not (own / rescale.RESCALED / rescale.READY).exists()
    go(cases.WHOLE, tmp_path / "run", 2, 1)


@pytest.mark.slow
def test_every_power_cut_in_it(tmp_path: Path) -> None:
    visit_all(tmp_path, every=1, cuts=POWER_CUTS)


@pytest.mark.thorough
@pytest.mark.parametrize("ready", [True, False])
def test_one_that_an_older_version_left_half_done(ready: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It kept the new chunks in the draft. With the marker it is finished, without it nothing has changed."""
    expected, _ = calm(cases.WHOLE, tmp_path / "calm", keep=False)
    go(cases.WHOLE, tmp_path / "run", 2, 1)
    with monkeypatch.context() as patched:
        patched.setattr(rescale, "finish_rescaling", Mock(side_effect=InterruptedError))
        with pytest.raises(InterruptedError):
            go(cases.WHOLE, tmp_path / "run", 3, 1)
    folder = tmp_path / "run" / "checkpoint" / "arterial"
    (folder / rescale.NEW_CHUNKS).rename(folder / rescale.RESCALED / "chunks")
    if not ready:
        (folder / rescale.RESCALED / rescale.READY).unlink()
    other = with_shards(cases.WHOLE, 3)
    assert not Host(other, tmp_path / "run").run().difference(expected, other)
    assert not (folder / rescale.RESCALED).exists()


def test_a_step_that_was_not_finished_is_refused(tmp_path: Path) -> None:
    go(cases.WHOLE, tmp_path / "run", 2, 2)
    commits = tmp_path / "run" / "checkpoint" / "spark" / "commits"
    max(commits.iterdir(), key=lambda path: int(path.name)).unlink()
    with pytest.raises(RunError, match=r"begun and not finished.*--shards 2"):
        go(cases.WHOLE, tmp_path / "run", 3, 1)
    shutil.rmtree(tmp_path / "run" / "checkpoint" / "arterial" / "works", ignore_errors=True)
    go(cases.WHOLE, tmp_path / "run", 2, 1)
