"""A stateful network on hosts: started, watched step by step, compared with what one process answers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.hosts import ROOT, SparkHosts
from tests.engine.run.recover import TRAIN_SIZE, tuples
from tests.engine.run.test_recovery import _check_content

NETWORK = f"{ROOT / 'tests/engine/run/recover.py'}:network"

QUICK_TO_NOTICE = {
    "spark.network.timeout": "8s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeoutInterval": "2s",
    "spark.rpc.askTimeout": "8s",
    "spark.shuffle.io.retryWait": "1s",
}
"""A host that is cut off is given up after some seconds, and not after two minutes."""


class Recovering:
    """A run of the recovery network in a folder that all hosts see."""

    def __init__(self, hosts: SparkHosts, name: str, steps: int, **settings: str) -> None:
        self.hosts, self.folder, self.count = hosts, hosts.shared / name, steps * TRAIN_SIZE
        self.settings = {key.replace("_", "."): value for key, value in settings.items()}
        self.folder.mkdir()
        tuples(self.count).write_parquet(self.folder / "data.parquet")

    def start(self, host: str = "driver", **settings: str) -> subprocess.Popen[bytes]:
        """Start it on a host, or take it up again there."""
        where: list[str | Path] = ["--source", f"reports={self.folder / 'data.parquet'}", "--out", self.folder / "out"]
        how = ["--train-size", str(TRAIN_SIZE), "--schedule", "off", "--shards", "2", "--json"]
        self.log = f"driver-{self.folder.name}"
        return self.hosts.arterial(host, ["run", NETWORK, *where, *how], self.log, {**self.settings, **settings})

    def until_step(
        self, step: int, process: subprocess.Popen[bytes], host: str = "driver", seconds: float = 600
    ) -> None:
        """Wait until so many steps are committed, while it runs."""
        until(lambda: self.committed() >= step, process, lambda: self.said(host), seconds)

    def committed(self) -> int:
        """How many steps Spark has committed."""
        commits = self.folder / "out" / "checkpoint" / "spark" / "commits"
        return max((int(path.name) + 1 for path in commits.glob("*") if path.name.isdigit()), default=0)

    def said(self, host: str = "driver") -> str:
        """What the driver printed."""
        return self.hosts.host(host).log(self.log).read_text()[-3000:]

    def check(self, process: subprocess.Popen[bytes], host: str = "driver", seconds: float = 900) -> None:
        """Wait for its end; nothing is missing, extra or wrong."""
        self.hosts.finish(process, host, self.log, seconds)
        _check_content(self.folder, self.count)


def until(true: Callable[[], bool], process: subprocess.Popen[bytes], said: Callable[[], str], seconds: float) -> None:
    """Wait for something that happens while a process runs."""
    patience = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, f"it is over: {said()}"
        assert time.monotonic() < patience, f"waited in vain: {said()}"
        time.sleep(0.1)


def folder_of(hosts: SparkHosts, name: str) -> Path:
    """A new folder that all hosts see."""
    folder = hosts.shared / name
    folder.mkdir()
    return folder
