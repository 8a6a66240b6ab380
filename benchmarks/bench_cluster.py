"""Workers of one core each, on hosts of their own: two against `local[2]` on the same data, and four against two; needs
root and iproute2.

All hosts are namespaces of this machine, so the network between them is fast: what is measured is the way through
Spark's shuffle instead of shared memory. Four workers share the cores of this machine, so their rate says nothing; what
a report costs is CPU time, of all processes on all hosts, and four workers get twice the reports of two. Each Java
compiles its code in the first dozens of steps, and a cluster has more of them: the clock starts when that is over.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
from tests.cluster.hosts import SparkHosts, available
from tests.cluster.running import NETWORK
from tests.engine.run.recover import tuples

from benchmarks.figure import Figure

TRAIN = 800_000
"""Tuples in a step of two workers."""
STEPS = 50
WARM = 35
"""Steps before the clock starts."""
TURNS = 5
"""Single turns of the comparison have been between 0.63 and 0.80, so their median counts."""


def measure() -> list[Figure]:
    """The rate of two workers as a share of that of one machine, and what a report costs with twice the workers."""
    if not available():
        sys.stderr.write("left out: hosts need root and iproute2\n")
        return []
    return [against_one_machine(), four_against_two()]


def against_one_machine() -> Figure:
    """The rate of the cluster as a share of that of one machine: the median of several turns."""
    hosts = _hosts(2)
    turns = []
    try:
        for turn in range(TURNS):
            alone = _step_seconds(hosts, f"alone-{turn}", "local[2,4]")
            together = _step_seconds(hosts, f"together-{turn}", hosts.url)
            turns.append((alone / together, f"median step of {TRAIN:,} tuples: {together:.2f} s and {alone:.2f} s"))
    finally:
        hosts.close()
    ratio, remark = sorted(turns)[TURNS // 2]
    return Figure("rate of two one-core workers / local[2]", ratio, "", at_least=0.7, remark=remark)


def four_against_two() -> Figure:
    """What a report costs four workers, over what it costs two."""
    cost = {}
    for workers in (2, 4):
        hosts = _hosts(workers)
        try:
            cost[workers] = _cost(hosts, workers)
        finally:
            hosts.close()
    two, four = (1e6 * cost[workers] for workers in (2, 4))
    remark = f"{four:.2f} and {two:.2f} µs of CPU, {TRAIN // 2:,} tuples a step and worker, all processes"
    return Figure("cost of a report, 4 workers / 2 workers", four / two, "×", at_most=1, remark=remark)


def _hosts(workers: int) -> SparkHosts:
    """A cluster, with data for a run."""
    hosts = SparkHosts(workers=workers, quick=False)
    try:
        hosts.until(workers)
        tuples(STEPS * TRAIN * workers // 2).write_parquet(hosts.shared / "data.parquet")
    except BaseException:
        hosts.close()
        raise
    return hosts


def _start(hosts: SparkHosts, name: str, master: str, shards: int) -> tuple[subprocess.Popen[bytes], Path]:
    """A run, and its file of steps."""
    out = hosts.shared / name
    where: list[str | Path] = ["--source", f"reports={hosts.shared / 'data.parquet'}", "--out", out]
    how = ["--train-size", str(TRAIN * shards // 2), "--schedule", "off", "--shards", str(shards), "--json"]
    process = hosts.arterial("driver", ["run", NETWORK, *where, *how], name, master=master)
    return process, out / "checkpoint" / "steps.jsonl"


def _step_seconds(hosts: SparkHosts, name: str, master: str) -> float:
    process, steps = _start(hosts, name, master, 2)
    hosts.finish(process, "driver", name)
    return statistics.median(float(json.loads(line)["seconds"]) for line in steps.read_text().splitlines()[WARM:])


def _cost(hosts: SparkHosts, workers: int) -> float:
    """CPU seconds of a report, in all processes of all hosts, from the first steps to the last but one."""
    process, steps = _start(hosts, "cost", hosts.url, workers)
    marks = []
    for step in (WARM, STEPS - 1):
        while (done := _lines(steps)) < step:
            assert process.poll() is None, "the run is over before its last steps"
            time.sleep(0.02)
        marks.append((done, _cpu(hosts)))
    hosts.finish(process, "driver", "cost")
    (before, spent), (after, all_spent) = marks
    return (all_spent - spent) / ((after - before) * TRAIN * workers // 2)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _cpu(hosts: SparkHosts) -> float:
    """What all processes of all hosts have spent so far; those that ended, by those that waited for them."""
    spent = 0.0
    for host in hosts.network.hosts.values():
        for pid in host.pids():
            try:
                spent += sum(psutil.Process(pid).cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
    return spent
