"""The how-to pages and the quick start: the commands of each are run in order, in an empty folder, with the files that
it shows. Those of the page on sources are run on files made for them.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from tests.connectors.sinks.test_conformance import query
from tests.postgres import Server

ROOT = Path(__file__).parents[1]
PAGES = ("how-to/folder", "how-to/table", "how-to/webhook", "how-to/look", "index")
BLOCK = re.compile(r"(?:^`([\w.]+)`:\n\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def script_of(page: Path) -> str:
    """The page as a shell script: files that it names are written, blocks without a language are commands."""
    parts = ["set -e"]
    for name, language, text in BLOCK.findall(page.read_text()):
        if name:
            parts.append(f"cat > {name} <<'END OF FILE'\n{text}END OF FILE")
        elif not language:
            parts.append(text)
    return "\n".join(parts)


def path_with_commands(folder: Path) -> str:
    """A PATH on which `arterial` and `python` are those of the tests."""
    ours = folder / "bin"
    ours.mkdir()
    for command, words in (("arterial", "-m arterial"), ("python", "")):
        (ours / command).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (ours / command).chmod((ours / command).stat().st_mode | stat.S_IEXEC)
    return f"{ours}:{os.environ['PATH']}"


def run_page(name: str, folder: Path, change: Callable[[str], str] = str) -> str:
    """What its commands print; `change` adapts addresses and sizes."""
    path = path_with_commands(folder)
    (folder / "empty").mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    done = subprocess.run(
        ["sh", "-c", change(script_of(ROOT / "docs" / f"{name}.md").replace("8765", port))],
        cwd=folder / "empty",
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


EXPECTED = {
    "how-to/folder": "vehicle,time,peak,reports",
    "how-to/table": "cellar,119,18.0",
    "how-to/webhook": '"vehicle":',
    "how-to/look": "per_minute",
    "index": "vehicle,time,peak,reports",
}


@pytest.mark.thorough
@pytest.mark.parametrize("page", [*(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[:-1]), PAGES[-1]])
def test_the_commands_of_a_page(page: str, tmp_path: Path) -> None:
    assert EXPECTED[page] in run_page(page, tmp_path)


@pytest.mark.spark
@pytest.mark.slow
def test_resume_after_a_crash(tmp_path: Path) -> None:
    out = run_page("how-to/resume", tmp_path)
    assert "finished" in out
    parts = list((tmp_path / "empty" / "cars" / "alerts" / "alerts").glob("part-*"))
    assert parts


@pytest.mark.spark
@pytest.mark.slow
def test_the_commands_of_operations(tmp_path: Path) -> None:
    out = run_page("operations", tmp_path)
    assert 'arterial_source_tuples_total{network="cars",source="reports"}' in out
    assert "saved cars at step" in out
    assert "finished" in out or "finished" in out
    cars = tmp_path / "empty" / "cars"
    calm = {path.name: path.read_bytes() for path in (cars / "alerts" / "alerts").glob("part-*")}
    restored = {path.name: path.read_bytes() for path in (cars / "restored" / "alerts").glob("part-*")}
    assert restored
    assert len(restored) <= len(calm)
    assert "ended" in (cars / "run.log").read_text()
    assert (cars / "lineage.jsonl").read_text().count("COMPLETE") == 2


def test_no_page_is_forgotten() -> None:
    pages = {f"how-to/{page.stem}" for page in (ROOT / "docs" / "how-to").glob("*.md")}
    assert pages == {*PAGES, "how-to/resume"} - {"index"}


NETWORK = """
from pathlib import Path

import arterial as art

net = art.Network("n")
reports = net.source("reports", {"at": "timestamp", "place": str}, time="at")
if Path("wanted").exists():
    places = net.loaded_relation("places", {"place": str, "zone": int}, key="place", time="timestamp")
    reports = reports.group_by("place").read_relation("placed", places)
reports.output("out")
"""


@pytest.mark.thorough
def test_the_commands_of_the_page_on_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: Server) -> None:
    monkeypatch.chdir(tmp_path)
    text = "at,place\n2026-03-01T06:00:00,a\n2026-03-01T06:00:01,b\n"
    for folder in ("data", "incoming"):
        Path(folder).mkdir()
        Path(folder, "_END").touch()
        Path(folder, "a.csv").write_text(text)
    Path("data", "2026-03.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("reports.csv").write_text(text)
    Path("net.py").write_text(NETWORK)
    make = "CREATE TABLE places (place TEXT PRIMARY KEY, zone INTEGER)"
    with closing(sqlite3.connect("city.db")) as db, db:
        db.execute(make)
    query(postgres, "DROP TABLE IF EXISTS places CASCADE")
    query(postgres, make)
    commands = [
        line for line in script_of(ROOT / "docs" / "sources.md").splitlines() if line.startswith("arterial run")
    ]
    assert len(commands) >= 6
    for number, line in enumerate(commands):
        if "places=" in line:
            Path("wanted").touch()
        line = line.replace("me@localhost/city", f"{postgres.user}@127.0.0.1:{postgres.port}/{postgres.database}")
        sys.modules.pop("net", None)
        done = CliRunner().invoke(app, [*shlex.split(line)[1:], "--local", "--out", str(number)])
        assert done.exit_code == 0, f"{line}\n{done.output}{done.exception}"
        assert sum(pl.read_parquet(part).height for part in Path(str(number), "out").glob("*")) == 2
