"""The commands in README and docs: all have known options; those that need little are run in order in an empty folder.

The pages of how-to, sources, sinks, SQL and the tutorial have tests of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from arterial.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
COMMAND = get_command(app)

# What the test does not run as it stands in the README, and why.
LEFT_OUT = {
    "make demo": "sets up an environment; the commands it runs are run here",
    "make test": "runs this test",
    "export PATH": "the test has its own",
    "arterial linear-road rate": "a rating takes minutes of real time; tests/linearroad/rate runs one",
}
# What is added to a command so that it takes seconds.
SCALED_DOWN = {
    "arterial linear-road simulate": "--seconds 60 --density 0.05",
}


def _blocks(page: Path, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def _lines(page: Path) -> list[str]:
    """The lines of blocks that show commands, without prompts and comments."""
    blocks = [*_blocks(page), *_blocks(page, "console")]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [re.sub(r"\s+#\s.*", "", line).removeprefix("$ ").strip() for line in lines]


def _commands(page: Path) -> list[str]:
    """The commands of ours, also those behind a pipe."""
    parts = [part.strip() for line in _lines(page) for part in re.split(r"\|(?=\s*arterial )", line.split("||")[0])]
    return [part for part in parts if part.startswith("arterial ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_options_of_all_commands_exist(page: Path) -> None:
    wrong = []
    for line in _commands(page):
        words = shlex.split(line.split(" > ")[0].removesuffix(" &"))[1:]
        try:
            _parse(COMMAND, words)
        except Exception as mistake:
            wrong.append(f"{line}: {getattr(mistake, 'message', mistake)}")
    assert not wrong


def _parse(command: object, words: list[str]) -> None:
    """Parse the words of a command without running it."""
    inner = getattr(command, "commands", None)
    if inner is not None and words and not words[0].startswith("-"):
        if words[0] not in inner:
            raise ValueError(f"there is no command {words[0]!r}")
        _parse(inner[words[0]], words[1:])
    elif "…" not in words:
        command.make_context("arterial", list(words), resilient_parsing=False)  # type: ignore[attr-defined]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_readme_in_an_empty_folder(tmp_path: Path) -> None:
    ours = tmp_path / "bin" / "arterial"
    ours.parent.mkdir()
    ours.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m arterial "$@"\n')
    ours.chmod(ours.stat().st_mode | stat.S_IEXEC)
    folder = tmp_path / "empty"
    folder.mkdir()
    (python,) = _blocks(ROOT / "README.md", "python")
    (folder / "speeding.py").write_text(python)
    environment = {**os.environ, "PATH": f"{ours.parent}:{os.environ['PATH']}"}
    run = []
    for line in "\n".join(_blocks(ROOT / "README.md")).splitlines():
        command = re.sub(r"\s+#\s.*", "", line).strip()
        plain = re.sub(r"\s+", " ", command)
        if not command or plain.startswith(tuple(LEFT_OUT)):
            continue
        more = next((extra for start, extra in SCALED_DOWN.items() if plain.startswith(start)), "")
        done = subprocess.run(
            ["sh", "-c", f"{command} {more}"], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        run.append(plain)
    assert len(run) >= 10
    assert (folder / "out" / "alerts.csv").read_text().splitlines()[0] == "vehicle,time,peak,reports"
    assert (folder / "updates.csv").stat().st_size > 0


NET = "examples/speeding.py:net"
# Pages of which the commands are run here, and what is replaced so that they take little time and no Spark.
RUN_HERE = {
    "why.md": {},
    "moving/index.md": {"--objects 10000": "--objects 50", "--seconds 60": "--seconds 3"},
    "moving/generator.md": {"--objects 100000": "--objects 20", "--seconds 3600": "--seconds 3"},
    "runtime/check.md": {"speeding.py": "examples/speeding.py", "sample.parquet": "reports.parquet"},
}
NEEDS_MORE = ("--checkpoint", "moving sumo", "--network", "--replay", "linear-road", "examples/group")
"""Spark, SUMO, or another page's data."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUN_HERE)
def test_the_commands_of_a_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = "\n".join(_lines(ROOT / "docs" / name))
    for old, new in RUN_HERE[name].items():
        text = text.replace(old, new)
    if name == "runtime/check.md":
        text = f"python examples/speeding.py\narterial run {NET} -s reports.parquet -o out --local\n{text}"
    run = 0
    for line in text.splitlines():
        if any(word in line for word in NEEDS_MORE):
            continue
        if line.startswith("python "):
            subprocess.run([sys.executable, *shlex.split(line)[1:]], check=True, capture_output=True)
        elif line.startswith("arterial "):
            run += 1
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception}"
    assert run > 1
