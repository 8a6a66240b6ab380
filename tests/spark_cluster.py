"""A standalone cluster of Spark on this machine, for tests: a master and workers of one core, each a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from arterial.engine.spark.start.java import find_java

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class RunningCluster:
    """A cluster that takes applications."""

    address: str
    logs: tuple[Path, ...]
    """What each worker says."""

    def executors(self) -> list[int]:
        """How many executors each worker was asked to start."""
        return [log.read_text().count("Asked to launch executor") for log in self.logs]


@contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[RunningCluster]:
    """A cluster of which nothing is left in the end; `folder` gets logs and the workers' own files."""
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [["org.apache.spark.deploy.master.Master", *common, "--port", str(port)]]
    for n in range(workers):
        own = ["--work-dir", str(folder / f"worker-{n}"), "--cores", "1", "--memory", "1g"]
        commands.append(["org.apache.spark.deploy.worker.Worker", *common, *own, address])
    logs = [folder / f"{n}.log" for n in range(len(commands))]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command, log in zip(commands, logs, strict=True):
            with log.open("wb") as file:
                started.append(subprocess.Popen([spark_class, *command], env=environment(), stdout=file, stderr=file))
            if len(started) == 1:
                _until_open(port)
        yield RunningCluster(address, tuple(logs[1:]))
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(60)


def environment() -> dict[str, str]:
    """What a process of the cluster needs, or a driver."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until_open(port: int) -> None:
    patience = time.monotonic() + 120
    while time.monotonic() < patience:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the master did not start")
