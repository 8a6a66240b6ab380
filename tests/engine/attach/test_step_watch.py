"""Whether a run is in a step, by the logs of its Spark."""

from __future__ import annotations

import os
import time
from pathlib import Path

from arterial.engine.attach.step_watch import LONGEST, StepWatch
from arterial.engine.run.checkpoint.folder import FOLDER, STATUS_FILE


def logged(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / FOLDER).mkdir(parents=True)
    (checkpoint / STATUS_FILE).touch()
    for log in ("offsets", "commits"):
        (checkpoint / "spark" / log).mkdir(parents=True)
    return checkpoint / "spark"


def test_a_step_lasts_from_its_offset_to_its_commit(tmp_path: Path) -> None:
    log, watch = logged(tmp_path), StepWatch(tmp_path)
    assert not watch.is_in_step()
    for step in map(str, range(3)):
        (log / "offsets" / step).touch()
        assert watch.is_in_step()
        (log / "commits" / step).touch()
        assert not watch.is_in_step()


def test_it_begins_with_the_step_at_hand(tmp_path: Path) -> None:
    """Spark removes the oldest entries."""
    log = logged(tmp_path)
    for step in range(70, 80):
        (log / "offsets" / str(step)).touch()
        (log / "commits" / str(step)).touch()
    (log / "commits" / ".79.crc").touch()
    watch = StepWatch(tmp_path)
    assert not watch.is_in_step()
    (log / "offsets" / "80").touch()
    assert watch.is_in_step()


def test_a_step_of_a_run_that_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    offset = logged(tmp_path) / "offsets" / "0"
    offset.touch()
    began = time.time() - LONGEST - 1
    os.utime(offset, (began, began))
    assert not StepWatch(tmp_path).is_in_step()


def test_where_no_run_is_there_is_no_step(tmp_path: Path) -> None:
    assert not StepWatch(tmp_path).is_in_step()
    assert not StepWatch(Path("s3://nobody/nowhere")).is_in_step()
