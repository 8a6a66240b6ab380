"""Java is started without waiting for it, and ended if nobody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arterial.engine.spark.start.gateway import Gateway
from arterial.errors import MachineError


def fake_spark(home: Path, does: str) -> Path:
    """A Spark whose `spark-submit` says what it got, and then does something."""
    (home / "bin").mkdir(parents=True)
    submit = home / "bin" / "spark-submit"
    submit.write_text(f'#!/bin/sh\nfor word do echo "$word" >> "{home}/got"; done\n{does}\n')
    submit.chmod(0o755)
    return home


def test_a_java_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(fake_spark(tmp_path, "exit 1")))
    monkeypatch.setenv("JAVA_HOME", "/some/java")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--name 'two words' pyspark-shell")
    gateway = Gateway({"spark.a": "b c"}, os.environ)
    with pytest.raises(MachineError, match=r"Java \(/some/java\) did not start.*arterial doctor"):
        gateway.connect()
    expected = ["--conf", "spark.a=b c", "--name", "two words", "pyspark-shell"]
    assert (tmp_path / "got").read_text().splitlines() == expected
    gateway.process.communicate()


def test_who_ends_without_asking_for_it_ends_it(tmp_path: Path) -> None:
    fake_spark(tmp_path / "spark", f'echo $$ > "{tmp_path}/pid"; exec sleep 600')
    program = (
        "import os, time\n"
        "from pathlib import Path\n"
        "from arterial.engine.spark.start.gateway import Gateway\n"
        "Gateway({}, os.environ)\n"
        f"while not Path({str(tmp_path / 'pid')!r}).exists(): time.sleep(0.01)\n"
    )
    environment = {**os.environ, "SPARK_HOME": str(tmp_path / "spark"), "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(tmp_path.glob("arterial-gateway-*"))
