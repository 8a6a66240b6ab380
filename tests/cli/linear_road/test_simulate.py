"""The command: its options, its errors, and that an interrupted or failed run leaves nothing behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app, main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMAND = [sys.executable, "-m", "arterial", "linear-road", "simulate"]


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", ["arterial", "linear-road", "simulate", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--xways", "0.3", "multiple of 0.5"),
        ("--seconds", "0", "--seconds is 1 or more"),
        ("--seed", "-4", "--seed"),
        ("--density", "-1", "--density"),
        ("--start-at", "-1", "--start-at"),
        ("--format", "xlsx", "parquet, csv"),
    ],
)
def test_bad_options_end_in_a_sentence(
    option: str,
    value: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert run(monkeypatch, "--out", str(tmp_path / "new"), option, value) == 1
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.startswith("arterial: ")
    assert not (tmp_path / "new").exists()


def test_a_folder_with_something_in_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    assert run(monkeypatch, "--out", str(tmp_path)) == 1
    assert "--force" in capsys.readouterr().err
    assert run(monkeypatch, "--out", str(tmp_path), "--force") == 1
    assert "holds no data set" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_place_where_nothing_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--out", "/proc/nowhere/data", "--seconds", "2") == 1
    assert "Cannot write in /proc/nowhere" in capsys.readouterr().err


def test_json(spark: SparkSession, tmp_path: Path) -> None:
    command = ["linear-road", "simulate", "--out", str(tmp_path / "data"), "--seconds", "40", "--json"]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert told == json.loads((tmp_path / "data" / "city.json").read_text())
    assert told["reports"] > 500


@pytest.mark.spark
@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk: the same error from the same call."""
    most = 200_000
    made = subprocess.run(
        [*COMMAND, "--out", str(tmp_path / "data"), "--seconds", "900"],
        capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )  # fmt: skip
    assert made.returncode == 1
    assert "Cannot write the data set" in made.stderr
    assert "Traceback" not in made.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.slow
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [*COMMAND, "--out", str(tmp_path / "data")], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob(".data.*.draft/spool/*/progress")):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does: to Spark and its workers too
        running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 130
    assert not list(tmp_path.iterdir())
