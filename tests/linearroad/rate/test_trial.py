"""A trial of another system: where it answers, and what it does when it should end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from arterial.linearroad.data.convert import convert
from arterial.linearroad.rate import trial
from arterial.linearroad.rate.trial import Plan, held_up, run_trial
from tests.linearroad.cities import City, balance, report
from tests.linearroad.outputs import right_run

pytestmark = pytest.mark.thorough


@pytest.fixture
def trial_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a trial of a shell script in which ANSWERS is a file with the right answers."""
    city = City((report(0, 1, 10), report(1, 2, 20), balance(1, 1, 7)))
    right = right_run(city, tmp_path / "right")
    convert(tmp_path / "right" / "input" / "events.csv", tmp_path / "city")
    monkeypatch.setattr(trial, "PATIENCE_SECONDS", 0.5)

    def run(script: str) -> dict[str, Any]:
        command = f"sh -c '{script.replace('ANSWERS', str(right.file))}'"
        plan = Plan(tmp_path / "city", tmp_path / "half", 1.0, None, None, tmp_path / "out", 0, 2, system=command)
        return run_trial(plan, 1)

    return run


def test_a_system_answers_in_its_file_or_on_standard_output(trial_of: Any) -> None:
    for script in ("cat > /dev/null; cp ANSWERS {output}", "cat > /dev/null; cat ANSWERS; echo done >&2"):
        outcome = trial_of(script)
        assert outcome["passed"], outcome
        assert "stopped" not in outcome


def test_a_system_that_writes_nothing_breaks_down(trial_of: Any) -> None:
    outcome = trial_of("cat > /dev/null; echo I write elsewhere, not in {output} >&2")
    assert not outcome["passed"]
    assert "wrote no answers" in outcome["broke_down"]
    assert "I write elsewhere" in outcome["broke_down"]
    silent = trial_of("cat > /dev/null")
    assert not silent["passed"]
    assert silent["verdict"]["types"]["0"]["missing"] == 2


def test_a_system_that_does_not_end_is_stopped_with_all_that_it_started(trial_of: Any, tmp_path: Path) -> None:
    child = tmp_path / "child"
    outcome = trial_of(f"cat > /dev/null; cp ANSWERS {{output}}; sleep 3000 & echo $! > {child}; wait")
    assert outcome["passed"], outcome
    assert "it had not ended 2.5 s after" in outcome["stopped"]
    stat = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not stat.exists() or ") Z " in stat.read_text()


def test_a_system_that_ends_while_others_wait_for_it(trial_of: Any) -> None:
    assert "exit code 3" in trial_of("exit 3; touch {ready} {output}")["broke_down"]
    assert "ended before it made the file {ready}" in trial_of("exit 0; touch {ready} {output}")["broke_down"]


@pytest.mark.parametrize(
    ("begun", "why"), [(True, "had not taken all lines 0.5 s after"), (False, "was not ready after 0.3 s")]
)
def test_a_system_that_holds_the_driver_up(
    begun: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe is full, or the file `{ready}` is never made: neither process would end."""
    monkeypatch.setattr(trial, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(trial, "READY_SECONDS", 0.3)
    if begun:
        (tmp_path / "start").touch()
    driver = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    system = subprocess.Popen(["sleep", "3000"], stdin=driver.stdout, process_group=0)
    try:
        assert why in held_up(system, driver, tmp_path / "start", 0.1)
    finally:
        for process in (system, driver):
            process.kill()
            process.wait()
        assert driver.stdout
        driver.stdout.close()


def test_a_system_that_ends_early_is_said_to(trial_of: Any) -> None:
    outcome = trial_of("read line; cp ANSWERS {output}")
    assert outcome["stopped"] == "the system ended, or closed its input, before it had taken all lines"


def test_a_system_that_is_killed(trial_of: Any) -> None:
    assert "by signal 9 (SIGKILL)" in trial_of("kill -9 $$; touch {output}")["broke_down"]


def test_answers_that_cannot_be_read_break_the_trial_alone(trial_of: Any) -> None:
    outcome = trial_of("cat > /dev/null; printf PAR1 > {output}")
    assert "output.csv: expected lines of text, found a Parquet file" in outcome["broke_down"]
