from __future__ import annotations

from pathlib import Path

import pytest

from arterial.engine.steering import control
from arterial.engine.steering.control import Control, apply
from arterial.errors import RunError


def test_a_run_goes_on_unless_it_is_paused() -> None:
    assert apply(Control(), 0) == (True, 0)
    assert apply(Control(paused=True), 0) == (False, 0)


def test_single_steps_are_used_up() -> None:
    wish = Control(paused=True, steps=2)
    goes, used = apply(wish, 0)
    assert (goes, used) == (True, 1)
    assert apply(wish, used) == (True, 2)
    assert apply(wish, 2) == (False, 2)


def test_steps_from_before_a_resume_do_not_count_again() -> None:
    _, used = apply(Control(paused=False, steps=5), 0)
    assert apply(Control(paused=True, steps=5), used) == (False, 5)


def test_a_wish_is_a_file(tmp_path: Path) -> None:
    assert control.read_control(tmp_path) == Control()
    control.pause(tmp_path)
    control.step(tmp_path, 3)
    assert control.read_control(tmp_path) == Control(paused=True, steps=3)
    control.resume(tmp_path)
    control.stop(tmp_path)
    assert control.read_control(tmp_path) == Control(paused=False, steps=3, stop=1)
    (tmp_path / control.CONTROL_FILE).write_text("{")
    with pytest.raises(RunError, match="not a control file"):
        control.read_control(tmp_path)
    with pytest.raises(RunError, match="no checkpoint"):
        control.pause(tmp_path / "none")


def test_a_run_that_takes_no_commands_says_why(tmp_path: Path) -> None:
    control.refuse_commands(tmp_path, "its source is a DataFrame")
    for command in (control.pause, control.resume, control.step, control.stop):
        with pytest.raises(RunError, match="its source is a DataFrame"):
            command(tmp_path)
    control.refuse_commands(tmp_path, "")
    assert control.pause(tmp_path).paused


def test_what_arcs_of_a_version_begin_with(tmp_path: Path) -> None:
    control.begin_with(tmp_path, 2, {"a.out → b.in": "a"})
    control.begin_with(tmp_path, 3, {})
    assert control.begin_with(tmp_path, 4, {"a.out → c.in": "a"}).history.keys() == {"2", "4"}
    assert control.begin_with(tmp_path, 4, {}).history.keys() == {"2"}
    assert control.begin_with(tmp_path, 200, {}).history == {}
