"""Vehicles that drive too fast, minute by minute: the smallest useful network.

python examples/speeding.py                      # makes reports.parquet and runs the network without Spark
arterial run examples/speeding.py:net --source reports=reports.parquet --out alerts            # on Spark
arterial run examples/speeding.py:net --source reports=reports.parquet --out local --local     # in this process
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import arterial as art

net = art.Network("speeding")
reports = net.source("reports", {"time": "int64", "vehicle": "int32", "lane": "int8", "speed": "int32"}, time="time")
fast = reports.filter("fast", "speed > 100 and lane <> 4")
(
    fast.group_by("vehicle")
    .tumble("per_minute", every="1 minute", peak="max(speed)", reports="count(*)")
    .output("alerts")
)


def make_reports(path: Path, minutes: int = 10, vehicles: int = 200) -> None:
    """Reports of some vehicles, every ten seconds each; some of them are in a hurry."""
    chance = np.random.default_rng(1)
    times = np.repeat(np.arange(0, minutes * 60, 10), vehicles)
    who = np.tile(np.arange(vehicles), minutes * 6)
    usual = chance.normal(85, 12, vehicles)
    pl.DataFrame(
        {
            "time": times,
            "vehicle": who.astype(np.int32),
            "lane": chance.integers(0, 5, len(who)).astype(np.int8),
            "speed": (usual[who] + chance.normal(0, 5, len(who))).astype(np.int32),
        }
    ).write_parquet(path)


if __name__ == "__main__":
    data = Path("reports.parquet")
    make_reports(data)
    alerts = art.collect(net, reports=data)["alerts"]
    print(f"{data} has been made; alerts:")
    print(alerts.head(10))
