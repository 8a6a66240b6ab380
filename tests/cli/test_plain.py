"""What commands print has no signs that a terminal would act on, whatever a file or column is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app, main
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.picture import mermaid

CLEAR, TITLE = "\x1b[2J", "\x1b]0;owned\x07"


def test_an_error_that_names_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["arterial", "inspect", str(tmp_path / f"{TITLE}.csv")])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert r"\x1b]0;owned\x07.csv" in said
    assert "\x1b" not in said


def test_columns_and_values_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"time,a{TITLE}\n1,2\n2,b{CLEAR}\n")
    said = CliRunner().invoke(app, ["inspect", str(tmp_path / "x.csv")], catch_exceptions=False, color=True).output
    assert "\x1b" not in said
    assert r"a\x1b]0;owned\x07" in said


def test_pictures_and_the_plan_of_a_network() -> None:
    net = art.Network(f"net{CLEAR}")
    net.source("rows", {"time": "int64"}).filter(f"f{TITLE}<img>", "time > 1").output("out")
    plan = compile_network(net.value, 2)
    for drawn in (net._repr_html_(), mermaid(plan)):
        assert "\x1b" not in drawn
        assert "\x07" not in drawn
        assert "<img>" not in drawn


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "arterial", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "arterial: [Errno 28] No space left on device\n")
