"""Every crash point of a run, single and in pairs, with one and several attempts at a task: nothing lost or doubled."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from arterial.connectors.files.intake import Intake
from arterial.engine.state import chunk_files, slot_state
from arterial.errors import RunError
from arterial.storage.disk import using
from arterial.storage.place import put_in_place
from tests.faults import cases
from tests.faults.host import FIRST, LAST, LATE, ONE, Case, Host, Result
from tests.faults.recording import LOST, MIXED, POWER_CUTS, TORN, Point, Recording, lay_out
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
    expected, points = calm(cases.SMALL, folder / "run")
    shutil.rmtree(folder / "run")
    if most is not None:
        points = random.Random(2).sample(points, len(points) // 3)
    pairs = _second_points(cases.SMALL, expected, points, folder / "run")
    if most is not None:
        pairs = random.Random(1).sample(pairs, most)
    return visit(cases.SMALL, expected, pairs, folder / "run").visited


def _second_points(case: Case, expected: Result, points: list[Point], folder: Path) -> list[Point]:
    """The crash points of runs that go on from others."""
    second = []
    for first in points:
        lay_out(first.remains(), folder)
        recording = Recording(folder)
        with using(recording):
            assert not Host(case, folder).run().difference(expected, case), f"after {first.number} ({first.what})"
        second += recording.points
        shutil.rmtree(folder)
    return second


def _in_the_intake(points: list[Point]) -> list[Point]:
    """Those in which a followed source keeps how far it is."""
    return [point for point in points if re.search(r"(held|index)-\d|intake\.json", point.what)]


def _followed(folder: Path, *, durable: bool = False) -> tuple[Result, list[Point]]:
    """A calm run over followed files; it is visited where it was, for it names its files by their whole paths."""
    expected, points = calm(cases.FOLLOWED, folder, durable=durable)
    assert expected.outputs["read"].height == cases.tuples().height
    shutil.rmtree(folder)
    return expected, points


@pytest.mark.thorough
def test_crashes_while_files_are_taken_in(tmp_path: Path) -> None:
    expected, points = _followed(tmp_path / "run")
    assert visit(cases.FOLLOWED, expected, _in_the_intake(points), tmp_path / "run").visited > 30


@pytest.mark.slow
def test_every_crash_point_of_followed_files(tmp_path: Path) -> None:
    expected, points = _followed(tmp_path / "run")
    assert visit(cases.FOLLOWED, expected, points, tmp_path / "run").visited > 100


@pytest.mark.slow
@pytest.mark.parametrize("mode", POWER_CUTS)
def test_followed_files_survive_a_power_cut(mode: str, tmp_path: Path) -> None:
    expected, points = _followed(tmp_path / "run", durable=True)
    points = [point for point in points if not re.search(r" \d\.csv$", point.what)]  # what the files' writer loses
    assert visit(cases.FOLLOWED, expected, points, tmp_path / "run", mode=mode, durable=True).visited > 50


def _followed_pairs(folder: Path) -> int:
    """Two crashes while the rows of followed files are taken in."""
    expected, points = _followed(folder)
    pairs = _in_the_intake(_second_points(cases.FOLLOWED, expected, _in_the_intake(points), folder))
    return visit(cases.FOLLOWED, expected, pairs, folder).visited


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_pair_of_crashes_while_files_are_taken_in(tmp_path: Path) -> None:
    assert _followed_pairs(tmp_path / "run") > 100


@pytest.mark.slow
def test_rows_that_wait_and_come_twice_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that leaves what an earlier one, which was cut off, kept under its name: two crashes show what it does."""
    save_held = Intake._save_held

    def save(self: Intake, path: Path) -> None:
        if any(reader.held for reader in self.readers):
            save_held(self, path)

    monkeypatch.setattr(Intake, "_save_held", save)
    with pytest.raises(AssertionError, match="output read"):
        _followed_pairs(tmp_path / "run")


@pytest.mark.thorough
def test_pairs_of_crashes(tmp_path: Path) -> None:
    assert _pairs(tmp_path, PAIRS_IN_MAKE_TEST) > PAIRS_IN_MAKE_TEST // 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_pair_of_crashes(tmp_path: Path) -> None:
    assert _pairs(tmp_path, None) > 1000


@pytest.mark.thorough
@pytest.mark.parametrize("mode", [LOST, TORN, pytest.param(MIXED, marks=pytest.mark.slow)])
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
