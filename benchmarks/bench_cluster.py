"""Two workers of one core each, on hosts of their own, against `local[2]` on the same data; needs root and iproute2.

All hosts are namespaces of this machine, so the network between them is fast: what is measured is the way through
Spark's shuffle instead of shared memory.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from tests.cluster.hosts import SparkHosts, available
from tests.cluster.running import NETWORK
from tests.engine.run.recover import tuples

from benchmarks.figure import Figure

TRAIN = 400_000
STEPS = 20
WARM = 8
"""Steps before the clock starts."""


def measure() -> list[Figure]:
    """The rate of the cluster as a share of that of one machine."""
    if not available():
        sys.stderr.write("left out: hosts need root and iproute2\n")
        return []
    hosts = SparkHosts(workers=2)
    try:
        hosts.until(2)
        tuples(STEPS * TRAIN).write_parquet(hosts.shared / "data.parquet")
        alone = _step_seconds(hosts, "alone", "local[2,4]")
        together = _step_seconds(hosts, "together", hosts.url)
    finally:
        hosts.close()
    remark = f"median step of {TRAIN:,} tuples: {together:.2f} s and {alone:.2f} s"
    return [Figure("rate of two one-core workers / local[2]", alone / together, "", at_least=0.7, remark=remark)]


def _step_seconds(hosts: SparkHosts, name: str, master: str) -> float:
    out = hosts.shared / name
    where: list[str | Path] = ["--source", f"reports={hosts.shared / 'data.parquet'}", "--out", out]
    how = ["--train-size", str(TRAIN), "--schedule", "off", "--shards", "2", "--json"]
    hosts.finish(hosts.arterial("driver", ["run", NETWORK, *where, *how], name, master=master), "driver", name)
    lines = Path(out, "checkpoint", "steps.jsonl").read_text().splitlines()
    return statistics.median(float(json.loads(line)["seconds"]) for line in lines[WARM:])
