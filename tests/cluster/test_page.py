"""docs/cluster.md on hosts: its commands in order, from an empty folder that all of them see.

Those on HDFS and S3 are in tests/storage/stores/test_page.py: the stores of the tests answer on loopback only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.cluster.conftest import LEFT_OUT
from tests.cluster.hosts import Host, Network, available, java_options, until
from tests.test_how_to import ROOT, path_with_commands, script_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3600)]

SMALL_DAEMON = {
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_WORKER_CORES": "1",
    "SPARK_WORKER_MEMORY": "900m",
    "SPARK_LOCAL_DIRS": "/tmp/spark",
}
SMALL_RUN = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}


@pytest.fixture
def network() -> Iterator[Network]:
    if not available():
        pytest.skip(LEFT_OUT)
    network = Network()
    try:
        yield network
    finally:
        network.close()


def test_the_page_on_clusters(network: Network) -> None:
    master, worker, driver = (network.host(name) for name in ("master", "worker", "driver"))
    script = re.sub(r"^arterial .*(s3|hdfs)://.*\n", "", script_of(ROOT / "docs" / "cluster.md"), flags=re.MULTILINE)
    replaced = {
        "10.0.0.1": master.address,
        "10.0.0.2": worker.address,
        "HOST": master.address,
        "/shared": str(network.shared),
        "driver.city.example": driver.name,
        '"1g"': '"512m"',
    }
    for old, new in replaced.items():
        assert old in script, old
        script = script.replace(old, new)
    daemons = [line for line in script.splitlines() if "/bin/spark-class" in line]
    assert len(daemons) == 2
    # A run chooses Java's collector, for its executors too, and Java takes only one.
    java = java_options().replace("-XX:+UseSerialGC", "")
    common = {"PATH": path_with_commands(network.folder), "JAVA_TOOL_OPTIONS": java}
    for host, line, says in zip((master, worker), daemons, ("elected leader", "registered with master"), strict=True):
        script = script.replace(line, "")
        host.start(["sh", "-c", line], "spark", {**common, **SMALL_DAEMON, "SPARK_LOCAL_IP": host.address})
        _until_said(host, says)
    (network.folder / "spark-defaults.conf").write_text("".join(f"{name} {it}\n" for name, it in SMALL_RUN.items()))
    more = {**common, "SPARK_CONF_DIR": str(network.folder), "ARTERIAL_ARCHIVE": "off"}
    done = driver.start(["sh", "-c", script], "page", more).wait(3000)
    assert done == 0, driver.log("page").read_text()[-5000:]
    cars = network.shared / "cars"
    alerts = _rows(cars / "alerts")
    assert len(alerts) == 6
    assert _rows(cars / "alerts-here") == _rows(cars / "alerts-packed") == _rows(cars / "live") == alerts
    assert sorted(pl.read_csv(cars / "alerts.csv").rows()) == alerts


def _until_said(host: Host, words: str) -> None:
    log = host.log("spark")
    until(lambda: words in log.read_text(), 300, log.read_text)


def _rows(run: Path) -> list[tuple[object, ...]]:
    return sorted(pl.concat([pl.read_parquet(part) for part in (run / "alerts").glob("*.parquet")]).rows())
