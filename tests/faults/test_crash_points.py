"""Every crash point of a run, single and in pairs, with one and several attempts at a task: nothing lost or doubled."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from arterial.engine.state import chunk_files, slot_state
from arterial.errors import RunError
from arterial.storage.disk import using
from arterial.storage.place import put_in_place
from tests.faults import cases
from tests.faults.host import FIRST, LAST, LATE, ONE, Case, Host
from tests.faults.recording import LOST, POWER_CUTS, Recording, lay_out
from tests.faults.visit import calm, visit

pytestmark = pytest.mark.usefixtures("workers")

PAIRS_IN_MAKE_TEST = 120


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case", ["WHOLE", *(pytest.param(name, marks=pytest.mark.slow) for name in ("LIVE", "REPLACED"))]
)
def test_every_crash_point(case: str, tmp_path: Path) -> None:
    network: Case = getattr(cases, case)
    expected, points = calm(network, tmp_path / "calm")
    visits = visit(network, expected, points, tmp_path / "crashed")
    assert visits.visited > 150
    assert visits.visited + visits.same == len(points)


@pytest.mark.thorough
def test_some_crash_points_while_another_version_takes_over(tmp_path: Path) -> None:
    expected, points = calm(cases.REPLACED, tmp_path / "calm")
    assert visit(cases.REPLACED, expected, points[::9], tmp_path / "crashed").visited > 25


@pytest.mark.thorough
@pytest.mark.parametrize("attempts", [pytest.param(FIRST, marks=pytest.mark.slow), LAST])
def test_every_crash_point_with_two_attempts_at_each_task(attempts: str, tmp_path: Path) -> None:
    expected, _ = calm(cases.LEDGER, tmp_path / "calm")
    result, points = calm(cases.LEDGER, tmp_path / "twice", attempts=attempts)
    assert not result.difference(expected, cases.LEDGER)
    assert visit(cases.LEDGER, expected, points, tmp_path / "crashed").visited > 100


def _late(folder: Path, seeds: range) -> None:
    """Runs in which attempts come to their end late, at moments that the seed decides."""
    expected, _ = calm(cases.LEDGER, folder / "calm")
    for seed in seeds:
        result, _ = calm(cases.LEDGER, folder / f"late-{seed}", attempts=LATE, seed=seed, keep=False)
        assert not result.difference(expected, cases.LEDGER), f"seed {seed}"


@pytest.mark.thorough
def test_an_attempt_that_finishes_late_changes_nothing(tmp_path: Path) -> None:
    _late(tmp_path, range(12))


@pytest.mark.slow
def test_every_crash_point_with_late_attempts(tmp_path: Path) -> None:
    expected, _ = calm(cases.LEDGER, tmp_path / "calm")
    for seed in range(3):
        _, points = calm(cases.LEDGER, tmp_path / f"late-{seed}", attempts=LATE, seed=seed)
        assert visit(cases.LEDGER, expected, points, tmp_path / "crashed").visited > 60


@pytest.mark.parametrize("checked", [True, False], ids=["with digests", "without digests"])
def test_the_late_rename_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool) -> None:
    """Attempts that share the names of their files, as they once did: the simulation must find what that does."""
    monkeypatch.setattr(slot_state, "new_stamp", lambda save: f"{save:08x}-{0:016x}")

    def write(self: chunk_files.ChunkFiles, name: str, parts: list[bytes]) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        put_in_place(self._folder / name, parts)
        return chunk_files.digest(parts)

    monkeypatch.setattr(chunk_files.ChunkFiles, "write", write)
    if not checked:
        monkeypatch.setattr(chunk_files, "digest", lambda parts: "any")
    with pytest.raises((AssertionError, RunError, TypeError, ValueError)) as found:
        _late(tmp_path, range(40))
    assert checked == isinstance(found.value, RunError)


def _pairs(folder: Path, most: int | None) -> int:
    """Crash, go on, crash again within three steps, go on to the end; with all points, or so many pairs of a third."""
    case = cases.SMALL
    expected, points = calm(case, folder / "calm")
    pairs = []
    if most is not None:
        points = random.Random(2).sample(points, len(points) // 3)
    for first in points:
        again = folder / "again"
        lay_out(first.remains(), again)
        recording = Recording(again)
        with using(recording):
            assert not Host(case, again).run().difference(expected, case)
        pairs += recording.points
        shutil.rmtree(again)
    if most is not None:
        pairs = random.Random(1).sample(pairs, most)
    return visit(case, expected, pairs, folder / "crashed").visited


@pytest.mark.thorough
def test_pairs_of_crashes(tmp_path: Path) -> None:
    assert _pairs(tmp_path, PAIRS_IN_MAKE_TEST) > PAIRS_IN_MAKE_TEST // 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_pair_of_crashes(tmp_path: Path) -> None:
    assert _pairs(tmp_path, None) > 1000


@pytest.mark.thorough
@pytest.mark.parametrize("mode", POWER_CUTS)
def test_a_durable_run_survives_a_power_cut(mode: str, tmp_path: Path) -> None:
    case = cases.LEDGER
    expected, points = calm(case, tmp_path / "calm", durable=True)
    assert visit(case, expected, points, tmp_path / "cut", mode=mode, durable=True).visited > 30


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", POWER_CUTS)
@pytest.mark.parametrize("case", ["WHOLE", "LIVE", "REPLACED"])
@pytest.mark.parametrize("seed", range(3))
def test_durable_runs_of_all_kinds_survive_a_power_cut(case: str, mode: str, seed: int, tmp_path: Path) -> None:
    network: Case = getattr(cases, case)
    expected, points = calm(network, tmp_path / "calm", durable=True)
    assert visit(network, expected, points, tmp_path / "cut", mode=mode, durable=True, seed=seed).visited > 50


@pytest.mark.thorough
@pytest.mark.parametrize("mode", POWER_CUTS)
def test_without_durable_a_power_cut_is_noticed(mode: str, tmp_path: Path) -> None:
    case = cases.SMALL
    expected, points = calm(case, tmp_path / "calm")
    visits = visit(case, expected, points, tmp_path / "cut", mode=mode, may_be_noticed=True)
    assert visits.noticed > 0 or mode == LOST, "where nothing was ever synced, a lost disk is an empty one"


@pytest.mark.thorough
def test_syncing_is_what_makes_it_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the syncing of Spark's state a power cut is found to do harm."""
    case = cases.SMALL
    monkeypatch.setattr("tests.faults.host.SparkFiles.sync_state", lambda self: None)
    expected, points = calm(case, tmp_path / "calm", durable=True)
    with pytest.raises(AssertionError, match="damaged"):
        visit(case, expected, points, tmp_path / "cut", mode=LOST, durable=True)


@pytest.mark.thorough
def test_a_calm_run_is_the_same_with_the_plain_disk(tmp_path: Path) -> None:
    expected, points = calm(cases.WHOLE, tmp_path / "calm")
    assert len(points) > 200
    (tmp_path / "plain").mkdir()
    assert not Host(cases.WHOLE, tmp_path / "plain", attempts=ONE).run().difference(expected, cases.WHOLE)
