"""A stateful network on a standalone cluster of Spark: a master and two workers on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.run.test_recovery import SCRIPT, _check_content
from tests.spark_cluster import ROOT, RunningCluster, environment, running_cluster

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_stateful_network_on_a_cluster(cluster: RunningCluster, tmp_path: Path) -> None:
    from tests.engine.run.recover import tuples

    count = 1500
    tuples(count).write_parquet(tmp_path / "data.parquet")
    where = [tmp_path / "data.parquet", tmp_path / "checkpoint", tmp_path / "out"]
    settings = {**environment(), "ARTERIAL_MASTER": cluster.address}
    done = subprocess.run([sys.executable, SCRIPT, *where], env=settings, capture_output=True, timeout=500)
    assert done.returncode == 0, done.stderr.decode()
    _check_content(tmp_path, count)
    assert all(cluster.executors()), "both workers should have worked"


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
    settings = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    settings |= {
        "PATH": str(tools),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    count = 600
    tuples(count).write_parquet(tmp_path / "data.parquet")
    where = [tmp_path / "data.parquet", tmp_path / "checkpoint", tmp_path / "out"]
    done = subprocess.run([sys.executable, SCRIPT, *where], env=settings, capture_output=True, timeout=500)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "arterial" / "java" / "bin" / "java").exists()
    _check_content(tmp_path, count)
