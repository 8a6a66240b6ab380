"""A small network with groups, a connection point and QoS graphs, and runs of it in this process.

`python -m tests.studio.traffic FOLDER` runs it in a process of its own.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import polars as pl

from arterial import Delay, Network, QoS
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train


def traffic() -> NetworkValue:
    """Reports of vehicles: who is fast, how fast each road is, and who is faster than the others there."""
    net = Network("traffic")
    reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})
    reports.connection_point("kept", "1 hour")
    with net.composed("speeding"):
        fast = reports.filter("fast", "speed > 100")
        counted = fast.group_by("vehicle", name="by_vehicle").tumble(
            "per_ten", every="10 seconds", reports="count(*)", top="max(speed)"
        )
    counted.output("alerts", qos=QoS(Delay(2, 10), weight=2.0))
    with net.composed("roads"):
        means = reports.group_by("road", name="by_road").tumble(
            "road_means", every="10 seconds", mean="avg(speed)", cars="count(*)"
        )
        with net.composed("jams"):
            slow = means.filter("slow", "mean < 70").map("named", jam="road", time="time", speed="mean")
    means.output("means")
    slow.output("jams_found", qos=Delay(5, 20))
    return net.value


@cache
def trains(number: int = 2000, a_train: int = 40) -> list[Train]:
    """Reports, a second a train."""
    made = []
    for second in range(number):
        ids = range(a_train)
        tuples = pl.DataFrame(
            {
                "time": [second] * a_train,
                "vehicle": [(second * 7 + one) % 300 for one in ids],
                "road": [one % 5 for one in ids],
                "speed": [40 + (second * 13 + one * 29) % 90 for one in ids],
            }
        )
        made.append(Train(tuples, END if second + 1 == number else second))
    return made


def live(folder: Path, *, number: int = 100_000, interval: float = 0.25) -> LocalRun:
    """A run that lasts; stop it."""
    sinks = {name: MemorySink() for name in ("alerts", "means", "jams_found")}
    given = trains(min(number, 3000))
    return run_locally(
        traffic(), {"reports": MemorySource(given)}, sinks, folder, Settings(shards=2, interval=interval)
    )


if __name__ == "__main__":
    live(Path(sys.argv[1]), interval=0.05).wait()
