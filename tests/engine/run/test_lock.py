"""Whose a checkpoint is, on this machine and on others."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from arterial import ArterialError, attach
from arterial.connectors.files.source import FileSource
from arterial.engine.run.checkpoint import lock as locks
from arterial.engine.run.checkpoint.lock import LOCK_FILE, cut_off, lock_checkpoint, note_owner
from arterial.engine.run.checkpoint.manifest import MANIFEST, kept_shards
from arterial.engine.run.local import run_locally
from arterial.errors import RunError
from tests.engine.attach.asked import city, finished, reports, running


def _left(folder: Path, text: str) -> None:
    (folder / LOCK_FILE).write_text(text)


def test_another_run_is_named_with_its_host(tmp_path: Path) -> None:
    with lock_checkpoint(tmp_path) as held:
        note_owner(held, None)
        with pytest.raises(RunError, match=rf"another run \(process {os.getpid()}\) uses"):
            lock_checkpoint(tmp_path)
        _left(tmp_path, f"12 0 start - not-{socket.gethostname()}\n")
        with pytest.raises(RunError, match=rf"process 12 on not-{socket.gethostname()}\) uses"):
            lock_checkpoint(tmp_path)


def test_a_process_of_another_host_is_not_looked_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of the Spark there may be that of a Spark here."""
    monkeypatch.setattr(locks, "_is_spark", lambda process: True)
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    _left(tmp_path, "12 13 start - another-host\n")
    lock_checkpoint(tmp_path).close()
    _left(tmp_path, f"12 13 start - {socket.gethostname()}\n")
    with pytest.raises(RunError, match=r"the Spark \(process 13\) of a run that was killed still works"):
        lock_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("left", "found"),
    [
        ("1 0 another-start - {here}", False),
        ("1 0 another-start durable {here}", True),
        ("1 0 another-start durable", True),
        ("1 0 {start} durable {here}", None),
        ("1 0 another-start - elsewhere", None),
        ("1 0 another-start durable elsewhere", True),
        ("", None),
    ],
)
def test_a_restart_of_this_machine_and_a_run_on_another(left: str, found: bool | None, tmp_path: Path) -> None:
    _left(tmp_path, left.format(here=socket.gethostname(), start=locks.machine_start()))
    with lock_checkpoint(tmp_path) as held:
        assert cut_off(held) is found


def test_a_checkpoint_says_its_shards(tmp_path: Path) -> None:
    assert kept_shards(tmp_path) is None
    (tmp_path / MANIFEST).write_text(json.dumps({"shards": 3}))
    assert kept_shards(tmp_path) == 3
    (tmp_path / MANIFEST).write_text("damaged")
    assert kept_shards(tmp_path) is None


def test_a_local_run_at_work_keeps_its_files(tmp_path: Path) -> None:
    """Another one in its folder is refused before it removes anything."""
    first, source = running(tmp_path, first=5)
    with pytest.raises(RunError, match="another run"):
        running(tmp_path, first=5)
    source.all.set()
    assert first.wait(60)
    with attach(tmp_path, "kept") as answers:
        assert answers.collect()["answer"].height == reports().height


def test_a_local_run_that_cannot_start_gives_the_folder_back(tmp_path: Path) -> None:
    with pytest.raises(ArterialError, match="missing"):
        run_locally(city().value, {"reports": FileSource(tmp_path / "missing.csv")}, {}, tmp_path)
    assert finished(tmp_path).ended
