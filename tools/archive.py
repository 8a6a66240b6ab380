"""Makes the archive of Java's classes now (`python -m tools.archive`), which else the first run of a user makes.

The tests on Spark start Java some forty times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arterial.engine.spark.start.archive import Archive
from arterial.engine.spark.start.gateway import spark_home
from arterial.engine.spark.start.java import find_java

_NETWORK = """
from arterial import Network

net = Network("first")
net.source("ticks", {"time": int, "key": int}).group_by("key").tumble("counts", every=60, n="count(*)").output("out")
"""
_PATIENCE_SECONDS = 300.0


def main() -> None:
    """Run a small network on Spark, and wait for the archive of what it loaded."""
    archive = Archive(find_java(), spark_home())
    if archive.usable:
        return
    with tempfile.TemporaryDirectory(prefix="arterial-archive-") as folder:
        (Path(folder) / "first.py").write_text(_NETWORK)
        (Path(folder) / "ticks.csv").write_text("time,key\n1,7\n61,7\n")
        command = ["-m", "arterial", "run", "first.py:net", "--source", "ticks.csv"]
        environment = {name: value for name, value in os.environ.items() if name != "ARTERIAL_ARCHIVE"}
        subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not archive.usable and time.monotonic() < deadline:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
