"""Shared memory that is short or missing, memory that runs out, damaged files and older formats, without Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arterial.engine.spark.errors import as_run_error
from arterial.errors import ArterialError, RunError
from arterial.storage import shared_memory
from arterial.storage.shared_memory import MemoryFolder, has_room
from tests.faults import cases
from tests.faults.host import Case, Host
from tests.faults.visit import calm

pytestmark = pytest.mark.usefixtures("workers")

HURTS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "garbage": lambda path: path.write_bytes(bytes((31 * n + 7) % 256 for n in range(path.stat().st_size))),
}


@pytest.mark.parametrize("size", ["64m", "4k"])
def test_shared_memory_is_small(size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", tmp_path], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small memory here: {mounted.stderr.decode().strip()}")
    try:
        monkeypatch.setattr(shared_memory, "_MEMORY", tmp_path)
        folder = MemoryFolder.make("test")
        if size == "64m":
            assert folder is not None
            assert has_room(folder.path, 1 << 20)
        if folder is not None:
            assert not has_room(folder.path, 60 << 20), "a quarter is left to others"
            folder.remove()
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)


def test_there_is_no_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "_MEMORY", tmp_path / "missing")
    assert MemoryFolder.make("test") is None


def test_a_worker_that_memory_ran_out_for_gives_advice(tmp_path: Path) -> None:
    said = str(as_run_error(RuntimeError("Python worker exited unexpectedly (crashed)"), tmp_path))
    assert "smaller trains" in said
    assert "start again with the same checkpoint" in said
    said = str(as_run_error(RuntimeError("java.lang.OutOfMemoryError: Java heap space"), tmp_path))
    assert "SPARK_DRIVER_MEMORY" in said


@pytest.mark.parametrize("said", ["Broken pipe ", "Connection reset ", " "])
def test_the_process_that_plans_is_gone(said: str, tmp_path: Path) -> None:
    text = f"[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: {said}SQLSTATE: XXKST"
    assert "plans the steps died" in str(as_run_error(RuntimeError(text), tmp_path))
    other = text.replace(f": {said}SQLSTATE", ": other SQLSTATE")
    assert "plans the steps" not in str(as_run_error(RuntimeError(other), tmp_path))


def _stopped(case: Case, folder: Path) -> None:
    """A run that was killed after two steps."""
    folder.mkdir()
    host = Host(case, folder)
    with host.started():
        host.step()
        host.step()


@pytest.mark.thorough
@pytest.mark.parametrize("how", HURTS)
@pytest.mark.parametrize("case", ["WHOLE", "LIVE"])
def test_every_damaged_file_is_named_or_not_needed(case: str, how: str, tmp_path: Path) -> None:
    """Outputs that are whole files are the user's; all else that a run keeps is tried."""
    network: Case = getattr(cases, case)
    expected, _ = calm(network, tmp_path / "calm", keep=False)
    good = tmp_path / "good"
    _stopped(network, good)
    kept = [path for path in sorted(good.rglob("*")) if path.is_file() and path.stat().st_size]
    kept = [
        path
        for path in kept
        if path.parent != good / "read" and not path.name.startswith("part-") and not path.name.startswith("sums.")
    ]
    assert len(kept) > 12
    for path in kept:
        copy = tmp_path / "copy"
        shutil.copytree(good, copy)
        HURTS[how](copy / path.relative_to(good))
        try:
            wrong = Host(network, copy).run().difference(expected, network)
        except ArterialError as error:
            known = str(error)
            assert any(word in known.lower() for word in ("restore", "delete", "begin", "another", "not fit")), known
        else:
            harmless = path.name in ("status.json", "removed.json", "steps.jsonl")
            assert not wrong or harmless, f"{path.relative_to(good)}: {wrong}"
        shutil.rmtree(copy)


def test_a_checkpoint_of_an_older_format(tmp_path: Path) -> None:
    _stopped(cases.SMALL, tmp_path / "old")
    manifest = tmp_path / "old" / "checkpoint" / "arterial" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 3}))
    with pytest.raises(RunError, match=r"its format is 3, this run's is \d+\. Run it with the version of arterial"):
        Host(cases.SMALL, tmp_path / "old").run()
