"""`arterial moving …` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import ArterialError, MachineError

runner = CliRunner()


def arterial(*arguments: object) -> str:
    result = runner.invoke(app, ["moving", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_generate_and_run(tmp_path: Path) -> None:
    events, out = tmp_path / "events.csv", tmp_path / "updates.csv"
    made = arterial(
        "generate", "--out", events, "--objects", 50, "--seconds", 10, "--kilometres", 2, "--moving-knn", 3, "--knn", 2,
        "--moving-ranges", 2, "--ranges", 1, "--k", 3, "--classes", "car:3:30,walker:1:1.5", "--json",
    )  # fmt: skip
    assert json.loads(made)["queries"] == 8
    summary = json.loads(arterial("run", events, "--out", out, "--timeout", 2, "--json"))
    assert summary["queries"] == 8
    assert summary["rejects"] == 0
    assert summary["accuracy"] == 1.0
    assert summary["updates"] == len(out.read_text().splitlines()) > 0
    less = arterial("run", events, "--out", out, "--timeout", 2, "--cache", 0)
    assert "accuracy with a cache of 0 %" in less


def test_degrees(tmp_path: Path) -> None:
    events, out = tmp_path / "events.csv", tmp_path / "updates.csv"
    arterial(
        "generate", "--out", events, "--objects", 20, "--seconds", 3, "--kilometres", 2, "--knn", 2,
        "--moving-ranges", 2,
        "--lonlat", "179.999,-16.8",
    )  # fmt: skip
    assert json.loads(arterial("run", events, "--out", out, "--lonlat", "--json"))["rejects"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.csv", "--out", "x"], "no such file"),
        (["run", "{events}", "--out", "x", "--timeout", "0"], "--timeout must be more than 0"),
        (["run", "{events}", "--out", "{events}"], "is the file of events itself"),
        (["run", "{events}", "--out", "x", "--speed", "1"], "give a folder as --checkpoint too"),
        (["run", "{events}", "--out", "x", "--checkpoint", "c", "--speed", "fast"], "--speed must be a number"),
        (["run", "{events}", "--out", "x", "--checkpoint", "{events}/c"], "cannot be written: Not a directory"),
        (["generate", "--out", "{folder}/x.csv", "--classes", "car"], "expected name:share:speed"),
        (["generate", "--out", "{folder}/x.csv", "--classes", "car:0:1"], "must be more than 0"),
        (["generate", "--out", "{folder}/x.csv", "--lonlat", "north"], "expected LONGITUDE,LATITUDE"),
        (["generate", "--out", "{folder}/x.csv", "--lonlat", "0,90"], "must be within"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: list[str], message: str) -> None:
    (events := tmp_path / "events.csv").write_text("1,object,1,0,0\n")
    filled = [argument.format(events=events, folder=tmp_path) for argument in arguments]
    with pytest.raises(ArterialError, match=message):
        arterial(*filled)


def test_no_place_to_write(tmp_path: Path) -> None:
    (events := tmp_path / "events.csv").write_text("1,object,1,0,0\n")
    with pytest.raises(MachineError, match="cannot be written"):
        arterial("run", events, "--out", tmp_path / "none" / "updates.csv")
