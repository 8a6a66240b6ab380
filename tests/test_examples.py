"""The examples import only what users may import, and the short ones run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PUBLIC = {"arterial", "arterial.moving", "arterial.sql", "arterial.testing"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.name)
def test_only_public_modules_are_imported(path: Path) -> None:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    assert {name for name in found if name.partition(".")[0] == "arterial"} <= PUBLIC


@pytest.mark.thorough
def test_a_query_of_your_own_runs() -> None:
    done = subprocess.run([sys.executable, EXAMPLES / "group_nearest.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "at the end: taxi" in done.stdout


@pytest.mark.thorough
def test_a_running_network_is_asked() -> None:
    done = subprocess.run([sys.executable, EXAMPLES / "ask.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "second 600: a vehicle stands in segment 42",
        "minutes with a standing vehicle: 20",
    ]
