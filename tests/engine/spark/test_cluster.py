"""A stateful network on a standalone cluster of Spark: a master and two workers on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from arterial.engine.spark.start.java import find_java
from tests.engine.run.test_recovery import SCRIPT, _check_content

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment() -> dict[str, str]:
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [["org.apache.spark.deploy.master.Master", *common, "--port", str(port)]]
    for n in range(2):
        folder = ["--work-dir", str(tmp_path / f"worker-{n}"), "--cores", "1", "--memory", "1g"]
        commands.append(["org.apache.spark.deploy.worker.Worker", *common, *folder, address])
    started = []
    try:
        for command in commands:
            with (tmp_path / f"{len(started)}.log").open("wb") as log:
                started.append(subprocess.Popen([spark_class, *command], env=_environment(), stdout=log, stderr=log))
            if len(started) == 1:
                _until_open(port)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(60)


def _until_open(port: int) -> None:
    patience = time.monotonic() + 120
    while time.monotonic() < patience:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the master did not start")


@pytest.mark.slow
def test_a_stateful_network_on_a_cluster(cluster: str, tmp_path: Path) -> None:
    from tests.engine.run.recover import tuples

    count = 1500
    tuples(count).write_parquet(tmp_path / "data.parquet")
    where = [tmp_path / "data.parquet", tmp_path / "checkpoint", tmp_path / "out"]
    environment = {**_environment(), "ARTERIAL_MASTER": cluster}
    done = subprocess.run([sys.executable, SCRIPT, *where], env=environment, capture_output=True, timeout=500)
    assert done.returncode == 0, done.stderr.decode()
    _check_content(tmp_path, count)
    logs = [(tmp_path / f"{n}.log").read_text() for n in (1, 2)]
    assert all("Asked to launch executor" in log for log in logs), "both workers should have worked"


@pytest.mark.slow
def test_without_a_java_of_the_users(tmp_path: Path) -> None:
    """The Java that is bundled as a package runs a stateful network."""
    from tests.engine.run.recover import tuples

    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if not tool.name.startswith("java") and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment |= {
        "PATH": str(tools),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    count = 600
    tuples(count).write_parquet(tmp_path / "data.parquet")
    where = [tmp_path / "data.parquet", tmp_path / "checkpoint", tmp_path / "out"]
    done = subprocess.run([sys.executable, SCRIPT, *where], env=environment, capture_output=True, timeout=500)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "arterial" / "java" / "bin" / "java").exists()
    _check_content(tmp_path, count)
