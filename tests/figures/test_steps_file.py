"""`steps.jsonl`: each step once, whatever a crash left, and never too long."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from arterial.figures.step import StepFigures
from arterial.figures.steps_file import OLDER_FILE, STEPS_FILE, StepsFile, StepsReader, read_steps, remove_steps


def _step(number: int, born: float = 0.0) -> StepFigures:
    return StepFigures(number, 1, born, 1.0)


def _numbers(folder: Path) -> list[int]:
    return [step.step for step in read_steps(folder)]


def test_steps_are_appended_across_restarts(tmp_path: Path) -> None:
    for start in range(3):
        file = StepsFile(tmp_path)
        for number in range(2 * start, 2 * start + 4):  # the last two of the run before are run again
            file.add(_step(number))
        file.close()
    assert _numbers(tmp_path) == list(range(1, 8))
    remove_steps(tmp_path)
    assert _numbers(tmp_path) == []


def test_a_disk_that_is_full_takes_no_half_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write, room = StepsFile(tmp_path), os.write, [10]

    def full(number: int, line: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "full")
        return write(number, line[: room.pop()])

    file.add(_step(1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            file.add(_step(2))
    file.add(_step(2))
    file.add(_step(3))
    file.close()
    assert _numbers(tmp_path) == [1, 2, 3]


def test_a_line_that_was_cut_short_is_written_again(tmp_path: Path) -> None:
    file = StepsFile(tmp_path)
    for number in (1, 2):
        file.add(_step(number))
    file.close()
    path = tmp_path / STEPS_FILE
    path.write_bytes(path.read_bytes()[:-5])
    assert _numbers(tmp_path) == [1]
    file = StepsFile(tmp_path)
    file.add(_step(2))
    assert _numbers(tmp_path) == [1, 2]


def test_it_is_bounded(tmp_path: Path) -> None:
    file = StepsFile(tmp_path, most_bytes=2000)
    for number in range(1, 201):
        file.add(_step(number))
    file.close()
    assert (tmp_path / STEPS_FILE).stat().st_size <= 2000 >= (tmp_path / OLDER_FILE).stat().st_size
    found = _numbers(tmp_path)
    assert found == list(range(found[0], 201))
    (tmp_path / STEPS_FILE).unlink()
    file = StepsFile(tmp_path)  # a crash between the two files: what is in the older one is not written again
    file.add(_step(_numbers(tmp_path)[-1]))
    assert _numbers(tmp_path) == found[: found.index(_numbers(tmp_path)[-1]) + 1]


def test_damage_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / STEPS_FILE).write_bytes(b"\0" * 100 + b"\n{}\n")
    file = StepsFile(tmp_path)
    file.add(_step(5))
    assert _numbers(tmp_path) == [5]


def test_a_reader_sees_each_step_once_while_it_is_written(tmp_path: Path) -> None:
    reader, seen = StepsReader(tmp_path), []
    assert reader.more() == []
    file = StepsFile(tmp_path, most_bytes=700)
    for number in range(1, 30):
        file.add(_step(number))
        if number % 3 == 0:
            seen += [step.step for step in reader.more()]
    file.close()
    with (tmp_path / STEPS_FILE).open("a") as cut:
        cut.write('{"step": 99')
    seen += [step.step for step in reader.more()]
    assert seen == list(range(1, 30))
    remove_steps(tmp_path)
    assert reader.more() == []
    StepsFile(tmp_path).add(_step(1))
    assert [step.step for step in reader.more()] == [1]  # a run that began from the start


def test_a_reader_notices_a_run_that_began_again_and_is_further_by_now(tmp_path: Path) -> None:
    reader = StepsReader(tmp_path)
    for born in (1000.0, 2000.0, 3000.0):
        remove_steps(tmp_path)  # the new file may well have the number of the old one
        file = StepsFile(tmp_path)
        for number in range(1, 4 + int(born) // 1000):
            file.add(_step(number, born + number))
        file.close()
        found = reader.more()
        assert [step.step for step in found] == list(range(1, 4 + int(born) // 1000))
        assert found[0].born == born + 1
        assert reader.more() == []
