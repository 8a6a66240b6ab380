"""`arterial linear-road history`: its options and what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --data"),
        (["--data", "d", "--vehicles", "5"], "give either --data"),
        (["--tolls", "t", "--vehicles", "5"], "--vehicles does not go with --tolls"),
        (["--data", "d", "--xways", "5"], "--xways does not go with --data"),
    ],
)
def test_options_that_contradict(options: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["linear-road", "history", "--out", str(tmp_path), *options])
    assert isinstance(result.exception, DataError)
    assert message in str(result.exception)


def test_files_of_others(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "tolls.txt").write_text("1,1,0,5\n2,1,0,7\n1,1,0,6\n")
    (tmp_path / "segments.txt").write_text("1,1,0,0,0,60,5,0\n8,1,0,0,0,40,10,0\n")
    command = ["linear-road", "history", "--out", str(tmp_path / "out")]
    command += ["--tolls", str(tmp_path / "tolls.txt"), "--segments", str(tmp_path / "segments.txt")]
    result = CliRunner().invoke(app, [*command, "--json"])
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["vehicles"], facts["toll_rows"], facts["repeated_tolls"]) == (2, 2, 1)
    assert (facts["segment_rows"], facts["mean_lav"], facts["mean_cnt"]) == (2, 50.0, 7.5)
    result = CliRunner().invoke(app, [*command, "--force"])
    assert "2 vehicles, 1 expressway(s)" in result.stdout
    assert "1 others replaced by a later one" in result.stdout
