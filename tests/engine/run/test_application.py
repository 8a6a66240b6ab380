"""The start of an application: one run at a time in a folder, with the settings that it began with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arterial.engine.run.application import SETTINGS_FILE, Application
from arterial.engine.run.figures.status import Status
from arterial.engine.run.run import Run
from arterial.engine.run.states import RUNNING
from arterial.errors import DataError, MachineError, RunError


class Tiny(Application):
    """One that prepares a file; its run is nothing."""

    def __init__(self, folder: Path, fails: bool = False, **settings: Any) -> None:
        self.fails = fails
        super().__init__(folder / "work", folder / "checkpoint", settings, place=str(folder), otherwise="use --force")

    def prepare(self) -> None:
        (self.folder / "data").mkdir(exist_ok=True)
        if self.fails:
            raise DataError("line 3 is no number")

    def start(self) -> Run:
        return cast(Run, SimpleNamespace(status=Status(RUNNING, "tiny", 1, "2026-01-01T00:00:00+00:00")))


def test_one_run_at_a_time(tmp_path: Path) -> None:
    first = Tiny(tmp_path, speed=1)
    assert not first.resumed
    with pytest.raises(RunError, match=r"another run .* uses the checkpoint"):
        Tiny(tmp_path, speed=1)
    first.close()
    second = Tiny(tmp_path, speed=1)
    assert second.resumed
    second.close()


def test_other_settings_are_refused(tmp_path: Path) -> None:
    Tiny(tmp_path, speed=1, size=2).close()
    with pytest.raises(RunError, match=r"speed was 1 and is 2\. Repeat its command to go on, or use --force\."):
        Tiny(tmp_path, speed=2, size=2)
    Tiny(tmp_path, speed=1, size=2).close()  # the refusal gave the folder back


def test_what_failed_before_the_first_step_leaves_the_folder_free(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3"):
        Tiny(tmp_path, fails=True, data="a")
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["lock"]
    Tiny(tmp_path, data="b").close()
    (tmp_path / "checkpoint" / "spark").mkdir(parents=True)
    with pytest.raises(DataError, match="line 3"):
        Tiny(tmp_path, fails=True, data="b")
    assert (tmp_path / "work" / SETTINGS_FILE).exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="cannot be written"):
        Tiny(tmp_path / "file")
