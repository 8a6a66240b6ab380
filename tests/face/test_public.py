"""The public face: all of its names are there, typed, lazy and documented; a user's program needs nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import arterial

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("user_program.py")


def test_every_name_is_there() -> None:
    for name in arterial.__all__:
        assert getattr(arterial, name) is not None
    assert set(arterial.__all__) <= set(dir(arterial))
    with pytest.raises(AttributeError, match="no attribute 'Netwrok'; did you mean 'Network'"):
        arterial.Netwrok  # type: ignore[attr-defined]  # noqa: B018


def test_names_for_types_and_at_run_time_are_the_same() -> None:
    tree = ast.parse(Path(arterial.__file__).read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (node.module, alias.name) for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    places = {(module, name) for name, module in arterial._MODULE_OF.items()}  # type: ignore[attr-defined]
    assert {(module, name) for module, name in typed if module != "arterial"} == places
    named = {name for _, name in typed} | {"__version__"}
    assert named == set(arterial.__all__)


def test_every_name_is_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    missing = [name for name in arterial.__all__ if f"`{name}" not in text and f"art.{name}" not in text]
    assert not missing


def test_a_program_imports_only_the_face() -> None:
    tree = ast.parse(PROGRAM.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {name for name in imported if name.startswith("arterial")}
    assert ours == {"arterial", "arterial.moving", "arterial.sql", "arterial.testing"}


@pytest.mark.thorough
def test_a_program_has_strict_types(tmp_path: Path) -> None:
    words = ["--strict", "--config-file", str(ROOT / "pyproject.toml")]  # with the cache of `make types`
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import arterial as art\nart.Netwrok('x')\nart.collect(art.Network('n')).nothing\n")
    command = [sys.executable, "-m", "mypy", *words, PROGRAM, wrong]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    assert 'Module has no attribute "Netwrok"' in said
    assert '"Outputs" has no attribute "nothing"' in said
    assert "Found 2 errors in 1 file (checked 2 source files)" in said, said


@pytest.mark.thorough
def test_a_program_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, PROGRAM, tmp_path], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "did you mean 'reports'" in done.stdout
    assert (tmp_path / "alerts.parquet").exists()


def test_importing_it_is_quick() -> None:
    code = "import sys, arterial; print(sorted({'polars', 'pyspark', 'numba', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = "import sys, arterial as art; art.collect, art.run, art.Run; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"time": [1, 2], "vehicle": [7, 7], "speed": [120, 90]})
    frame.write_parquet(tmp_path / "reports.parquet")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "api.md").read_text()
    names: dict[str, object] = {"frame": frame}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(block.replace("art.run(net, ", "art.run(net, local=True, "), names)
    assert pl.read_parquet("alerts.parquet").to_dicts() == [{"vehicle": 7, "time": 59, "peak": 120}]
