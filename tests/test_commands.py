"""The commands in README and docs: all have known options; those that need little are run in order in an empty folder.

`RUN_ELSEWHERE` says which pages have tests of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
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
    """The fenced blocks of a page in a language, without their fences."""
    blocks: list[str] = []
    within: str | None = None
    for line in page.read_text().splitlines(keepends=True):
        fence = re.match(r" *```(\w*)", line)
        if fence:
            within = fence[1] if within is None else None
            if within == language:
                blocks.append("")
        elif within == language:
            blocks[-1] += line
    assert within is None, f"{page}: a block does not end"
    return blocks


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
        words = shlex.split(line)[1:]
        of_the_shell = next((n for n, word in enumerate(words) if word in (">", "<", "|", "&")), len(words))
        try:
            _parse(COMMAND, words[:of_the_shell])
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


# Pages whose commands are given to a run at work, and what is replaced so that they end.
RUN_BESIDE = {
    "running.md": {},
    "runtime/README.md": {},
    "runtime/tap.md": {"arterial tap alerts fast": "arterial tap alerts fast --limit 1", ">= 150": ">= 105"},
    "runtime/optimizer.md": {},
}
STARTS, LOOKS_ON = "arterial run ", "arterial top "
"""What starts the run, which the test does; and what shows it until it is over."""
NEVER_ENDS = re.compile(r"^(arterial tap alerts (?!.*--limit).*)$", re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_pages_beside_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, str(ROOT / "examples" / "speeding.py")], check=True, capture_output=True)
    words = f"run {ROOT / NET} -s reports=reports.parquet -o alerts --local --speed 1".split()
    with subprocess.Popen([sys.executable, "-m", "arterial", *words], stderr=subprocess.DEVNULL) as running:
        try:
            while not (tmp_path / "alerts" / "run.json").exists():
                assert running.poll() is None
                time.sleep(0.05)
            for name, replaced in RUN_BESIDE.items():
                text = "\n".join(_lines(ROOT / "docs" / name)).replace("arterial control alerts stop", "")
                for old, new in replaced.items():
                    text = text.replace(old, new)
                lines = [line for line in NEVER_ENDS.sub(r"\1 --limit 1", text).splitlines() if "arterial " in line[:9]]
                commands = [line for line in lines if not line.startswith((STARTS, LOOKS_ON))]
                assert commands
                for line in commands:
                    done = CliRunner().invoke(app, shlex.split(line)[1:])
                    assert done.exit_code in (0, 5), f"{name}: {line}\n{done.output}\n{done.exception}"
            assert CliRunner().invoke(app, ["control", "alerts", "stop"]).exit_code == 0
            assert running.wait(240) == 3
        finally:
            running.kill()


# Pages about Linear Road, one after the other in one folder, and what is replaced so that all of them take minutes.
IN_A_CITY = {
    "simulate.md": {"--xways 2.5": "--xways 1", "simulate ": "simulate --density 0.05 ", "--seconds 600": ""},
    "data.md": {},
    "describe.md": {},
    "history.md": {
        "--vehicles 150000 --xways 2": "--vehicles 200 --xways 1",
        "carddata.tolls --out history": "carddata.tolls --out other",
    },
    "run.md": {
        "--out answers\n": "--out answers --speed max\n",
        "cardatapoints.out0 --out answers": "cardatapoints.out0 --out others",
        "--out answers --replicate 16": "--out many --replicate 2",
    },
    "plan.md": {
        " peak ": " dense ",  # an earlier page has one
        "simulate ": "simulate --density 0.05 ",
        "--from 120": "--from 40 --until 50",
        "--replicate 64": "--replicate 4",
    },
    "validate.md": {
        "--tolls history": "--tolls city-history",
        "--segments history": "--segments city-history",
        "--output run": "--output answers",
    },
}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_pages_about_linear_road(tmp_path: Path) -> None:
    def arterial(*words: str) -> None:
        command = [sys.executable, "-m", "arterial", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    (tmp_path / "carddata.tolls").write_text("1,1,0,10\n1,2,0,20\n2,1,0,0\n")
    run = []
    for page, replaced in IN_A_CITY.items():
        if page == "data.md":  # files of others
            arterial("linear-road", "convert", "city", "--out", "flat.csv")
            for name in ("cardatapoints.out0", "walmart.dat"):
                shutil.copy(tmp_path / "flat.csv", tmp_path / name)
        text = "\n".join([*_commands(ROOT / "docs" / "linear-road" / page), ""])
        for old, new in replaced.items():
            assert old in text, f"{page}: {old}"
            text = text.replace(old, new)
        for line in text.splitlines():
            if "tcp://" in line or not line.startswith("arterial "):  # a sender is needed; a message that is shown
                continue
            more = ["--seconds", "60"] if page == "simulate.md" else []
            arterial(*shlex.split(line)[1:], *more)
            run.append(line)
    assert len(run) >= 15


RUN_ELSEWHERE = {
    "README.md": "here, in an empty folder (slow)",
    "docs/cluster.md": "tests/cluster/test_page.py; HDFS and S3: tests/storage/stores/test_page.py (slow)",
    "docs/index.md": "tests/test_how_to.py",
    "docs/how-to/folder.md": "tests/test_how_to.py",
    "docs/how-to/look.md": "tests/test_how_to.py",
    "docs/how-to/resume.md": "tests/test_how_to.py (slow)",
    "docs/how-to/table.md": "tests/test_how_to.py",
    "docs/how-to/webhook.md": "tests/test_how_to.py",
    "docs/kafka.md": "tests/test_pages.py (slow)",
    "docs/linear-road/boxes.md": "tests/test_pages.py (slow)",
    "docs/linear-road/judge.md": "tests/linearroad/rate/test_judge_page.py",
    "docs/linear-road/rate.md": "tests/test_pages.py (slow)",
    "docs/live.md": "tests/test_pages.py (slow)",
    "docs/moving/experiments.md": "tests/test_pages.py (slow)",
    "docs/operations.md": "tests/test_how_to.py (slow)",
    "docs/peers.md": "tests/peers/test_page.py (slow)",
    "docs/runtime/attach.md": "tests/test_pages.py (slow)",
    "docs/runtime/replace.md": "tests/test_pages.py (slow)",
    "docs/runtime/views.md": "tests/test_pages.py (slow)",
    "docs/sources.md": "tests/test_how_to.py",
    "docs/sinks.md": "tests/cli/test_sinks.py",
    "docs/sql.md": "tests/cli/test_sql.py",
    "docs/studio.md": "tests/test_pages.py (slow)",
    "docs/tutorial/clicks.md": "tests/test_tutorial.py",
    "docs/tutorial/fleet.md": "tests/test_tutorial.py",
    "docs/tutorial/sensors.md": "tests/test_tutorial.py",
}


def test_it_is_known_which_pages_are_run() -> None:
    here = {f"docs/{name}" for name in (*RUN_HERE, *RUN_BESIDE)} | {f"docs/linear-road/{name}" for name in IN_A_CITY}
    pages = {str(page.relative_to(ROOT)) for page in PAGES if _commands(page)}
    assert pages <= here | RUN_ELSEWHERE.keys()
    for test in RUN_ELSEWHERE.values():
        for path in re.findall(r"tests/[\w/.]+", test):
            assert (ROOT / path).exists(), path
