"""`arterial linear-road validate`: text, JSON, page and exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import ArterialError
from tests.linearroad.cities import generate, small
from tests.linearroad.outputs import Run, right_run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return right_run(generate(3), tmp_path)


def _command(run: Run, *more: str) -> list[str]:
    files = ["--tolls", str(run.tolls), "--segments", str(run.segments), "--output", str(run.output)]
    return ["linear-road", "validate", "--data", str(run.data.path), *files, *more]


@pytest.mark.thorough
def test_a_run_that_passes(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "report.html"
    done = CliRunner().invoke(app, _command(run, "--report", str(page)))
    assert done.exit_code == 0, done.output
    assert "The run passes" in done.output
    text = page.read_text()
    assert "The run passes" in text
    assert "<svg" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_a_run_that_fails(run: Run, tmp_path: Path) -> None:
    lines = run.lines()
    run.rewrite([*lines[1:], lines[-1], "dirt [red]"])
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, _command(run, "--report", str(page)))
    assert done.exit_code == 1
    for text in (
        "missing toll notice",
        "rule 7",
        "extra",
        "dirt [red]",
        "The run fails: 1 missing, 1 extra, 1 dirty line",
    ):
        assert text in done.output
    assert "who is right by which rule" in page.read_text()


def test_json(run: Run) -> None:
    done = CliRunner().invoke(app, _command(run, "--json", "--from", "60", "--until", "120"))
    told = json.loads(done.stdout)
    assert told["passes"] is (done.exit_code == 0) is True
    assert told["window"] == [60, 120]
    assert set(told["types"]) == {"0", "1", "2", "3", "4"}
    assert told["types"]["0"]["outside_window"] > 0
    assert set(told["types"]["0"]["response_seconds"]) == {"p50", "p95", "p99", "max"}


@pytest.mark.thorough
def test_profiles_dialects_and_their_mistakes(run: Run) -> None:
    done = CliRunner().invoke(app, _command(run, "--profile", "thesis2003", "--ftmin", "60", "--basecredit", "7"))
    assert done.exit_code == 1
    for wrong in (["--profile", "x"], ["--dialect", "x"], ["--ftmin", "3"], ["--from", "9", "--until", "9"]):
        failed = CliRunner().invoke(app, _command(run, *wrong))
        assert isinstance(failed.exception, ArterialError), wrong


@pytest.mark.thorough
def test_the_profile_is_what_judges(tmp_path: Path) -> None:
    run = right_run(generate(3), tmp_path, small("spec"))
    assert CliRunner().invoke(app, _command(run)).exit_code == 1
