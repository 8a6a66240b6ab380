"""The page "judge your own system": its adapters are right systems, in both languages; and why a trial failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arterial.linearroad.rate.reasons import reasons
from arterial.linearroad.rate.trial import first_delay

PAGE = Path(__file__).parents[3] / "docs" / "linear-road" / "judge.md"
SECONDS = 4
ARTERIAL = [sys.executable, "-m", "arterial", "linear-road"]


def _adapter(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def _events() -> str:
    """A few vehicles, one a second on the way through the segments, and a request of each kind."""
    lines = []
    for second in range(SECONDS):
        for vid in range(3):
            lines.append(f"0,{second},{vid + 10 * second},50,0,{vid},0,{second},{5280 * second},-1,-1,-1,-1,-1,-1")
    lines.append(f"2,{SECONDS - 1},10,-1,-1,-1,-1,-1,-1,1,-1,-1,-1,-1,-1")
    lines.append(f"3,{SECONDS - 1},11,-1,0,-1,-1,-1,-1,2,-1,-1,-1,-1,5")
    lines.append(f"4,{SECONDS - 1},12,-1,0,-1,-1,-1,-1,3,4,9,2,600,-1")
    return "\n".join(lines) + "\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "command"), [("python", [sys.executable]), pytest.param("sh", ["sh"], marks=pytest.mark.slow)]
)
def test_the_adapter_is_a_right_system(language: str, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(_events())
    (tmp_path / "system").write_text(_adapter(language))
    driven = [*ARTERIAL, "drive", "--data", "events.csv", "--to", "-", "--no-end-marker"]
    driven += ["--start-file", "start", "--record", "record"]
    with subprocess.Popen(driven, cwd=tmp_path, stdout=subprocess.PIPE) as driver:
        system = [*command, "system", "answers.csv", "start"]
        subprocess.run(system, cwd=tmp_path, stdin=driver.stdout, check=True, env=os.environ, timeout=60)
    judged = subprocess.run(
        [*ARTERIAL, "validate", "--data", "events.csv", "--output", "answers.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert judged.returncode == 0, judged.stdout + (tmp_path / "answers.csv").read_text()
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 3 * SECONDS + 3
    assert 0 <= first_delay(tmp_path / "record") < 1


def test_why_a_trial_failed() -> None:
    example = {"kind": "wrong", "time": 7, "rule": "rule 20: emitted before its time"}
    judged = {"title": "toll notice", "missing": 0, "extra": 0, "wrong": 3, "late": 1, "expected": 9}
    verdict = {"types": {"0": {**judged, "examples": [example]}}, "dirty_output_lines": {"7 fields": 2}}
    assert reasons({"passed": False, "verdict": verdict}) == [
        "toll notice: 3 wrong, 1 late of 9",
        "  wrong, second 7: rule 20: emitted before its time",
        "2 line(s) are no answers: 7 fields",
    ]
    assert reasons({"passed": True}) == []
    assert reasons({"passed": True, "stopped": "it was stopped"}) == ["it was stopped"]
