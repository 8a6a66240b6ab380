"""`arterial new`: what it makes works as its README says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest


def _run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, cwd=folder, timeout=300
    )


@pytest.mark.thorough
def test_the_project_works(tmp_path: Path) -> None:
    made = _run("arterial", "new", "my-roads", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "my-roads"
    assert {path.name for path in folder.iterdir()} == {"my_roads.py", "test_my_roads.py", "reports.csv", "README.md"}
    block = re.findall(r"```\n(.*?)```", (folder / "README.md").read_text(), flags=re.DOTALL)[0]
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    tested, drawn, run = commands[:3]
    done = _run(*tested[2:], "-q", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    for command in (drawn, run):
        done = _run(*command, folder=folder)
        assert done.returncode == 0, done.stderr
    assert (folder / "my_roads.svg").read_text().startswith("<svg")
    alerts = pl.read_csv(folder / "out" / "alerts.csv")
    assert alerts.columns == ["vehicle", "time", "peak", "reports"]
    assert set(alerts["vehicle"]) == {2, 3}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("full", "full is there already and is not an empty folder"),
        ("json", "there is a Python module 'json' already"),
        ("2fast", "'2fast' cannot be the name of a Python module"),
        ("class", "'class' cannot be the name of a Python module"),
    ],
)
def test_what_is_refused(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    done = _run("arterial", "new", name, folder=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "precious.txt"]


@pytest.mark.thorough
def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "roads").mkdir()
    assert _run("arterial", "new", "roads", folder=tmp_path).returncode == 0
    assert (tmp_path / "roads" / "roads.py").exists()
