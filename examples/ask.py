"""Asking a running network: which segments had a stopped vehicle so far, and from now on?

python examples/ask.py        # runs a small city in this process and asks it while it runs; no Spark
"""

from __future__ import annotations

import numpy as np
import polars as pl

import arterial as art

net = art.Network("city")
reports = net.source("reports", {"time": int, "vid": int, "seg": int, "speed": int})
kept = reports.connection_point("kept", "1 hour", storage_key=["seg"])
kept.filter("fast", "speed > 95").output("speeding")
# Nobody asked for this yet, so the run does not compute it.
kept.group_by("seg").tumble("per_minute", every="1 minute", slowest="min(speed)", n="count(*)").view("segments")


def make_reports(minutes: int = 30, vehicles: int = 300) -> pl.DataFrame:
    """Reports every ten seconds; vehicle 7 stands in segment 42 from minute 10 on."""
    chance = np.random.default_rng(1)
    times = np.repeat(np.arange(0, minutes * 60, 10), vehicles)
    who = np.tile(np.arange(vehicles), minutes * 6)
    stands = (who == 7) & (times >= 600)
    return pl.DataFrame(
        {
            "time": times,
            "vid": who,
            "seg": np.where(stands, 42, (who + times // 60) % 100),
            "speed": np.where(stands, 0, chance.integers(20, 100, len(who))),
        }
    )


if __name__ == "__main__":
    settings = art.Settings(train_size=5_000)
    run = art.run(net, reports=make_reports(), speeding=None, local=True, settings=settings)
    stopped = run.attach("kept", "SELECT DISTINCT seg FROM kept WHERE speed = 0")
    minutes = run.attach("segments", "SELECT seg, n FROM segments WHERE slowest = 0")
    for answer in stopped:
        for row in answer.frame.to_dicts():
            print(f"second {row['time']}: a vehicle stands in segment {row['seg']}")
    print(f"minutes with a standing vehicle: {minutes.collect()['answer'].height}")
    run.wait()
