"""Linear Road on Spark: the largest L in window mode, response times, speed without pacing, and the bare kernels.

`ARTERIAL_BENCH_L` sets the expressways of the window run (default 128). All data is simulated at peak load; larger L
are replicas of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.linearroad.kernels.host import LinearRoadKernels
from benchmarks.figure import Figure

PEAK_SECOND = 9_600
SECONDS = 600
WINDOW = (480, 600)
MANY = int(os.environ.get("ARTERIAL_BENCH_L", "128"))
FREE_REPLICAS = 8
SHARD_REPLICAS = 64


def measure() -> list[Figure]:
    """All figures of the application."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        city, history = folder / "city", folder / "history"
        _arterial("simulate", "--out", city, "--xways", 1, "--seconds", SECONDS, "--start-at", PEAK_SECOND, "--seed", 1)
        _arterial("history", "--data", city, "--out", history)
        kit = ("--data", city, "--tolls", history, "--segments", history)
        return [*_window(folder, kit, 10, 2.0, 1.0), *_window(folder, kit, MANY, 4.0, None), *_free(folder, kit, city)]


def _window(folder: Path, kit: tuple[Any, ...], many: int, worst: float, p99: float | None) -> list[Figure]:
    """A window at peak in real time, and whether the validator passes it."""
    out = folder / f"window-{many}"
    span = ("--from", WINDOW[0], "--until", WINDOW[1], "--replicate", many)
    run = json.loads(_arterial("run", *kit, "--out", out, "--speed", 1, *span, "--json"))
    judged = subprocess.run(
        _command("validate", *kit, "--output", out, *span, "--json"), capture_output=True, text=True
    )
    passes = json.loads(judged.stdout)["passes"]
    times = [answers for answers in run["responses"].values() if answers["answers"]]
    rate = run["window_reports"] / (WINDOW[1] - WINDOW[0])
    return [
        Figure(
            f"L = {many} passes the validator", float(passes), "yes = 1", at_least=1, remark=f"{rate:,.0f} reports/s"
        ),
        Figure(f"L = {many}: worst response", max(a["worst"] for a in times), "s", at_most=worst),
        Figure(f"L = {many}: p99 response", max(a["p99"] for a in times), "s", at_most=p99),
    ]


def _free(folder: Path, kit: tuple[Any, ...], city: Path) -> list[Figure]:
    """As fast as possible, beside the same kernels in one process a core, and the cost of 16 times the expressways."""
    rates = {}
    for many in (FREE_REPLICAS, 16 * FREE_REPLICAS):
        words = ("--out", folder / f"free-{many}", "--speed", "max", "--replicate", many, "--until", 240, "--json")
        run = json.loads(_arterial("run", *kit, *words))
        rates[many] = run["window_reports"] / run["streaming_seconds"]
    bare = _bare(city)
    growth = rates[FREE_REPLICAS] / rates[16 * FREE_REPLICAS]
    return [
        Figure(
            "--speed max", rates[16 * FREE_REPLICAS], "reports/s", at_least=700_000, remark=f"L = {16 * FREE_REPLICAS}"
        ),
        Figure("bare kernels, a process a core", bare, "reports/s"),
        Figure("--speed max / bare kernels", rates[16 * FREE_REPLICAS] / bare, "ratio", at_least=0.5),
        Figure("cost of a report, L = 128 / L = 8", growth, "ratio", at_most=1.1**4),
    ]


def _bare(city: Path) -> float:
    """Reports a second of the kernels alone, a process for each core on replicas of its own."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(_warm, range(cores)))
        started = time.perf_counter()
        reports = sum(pool.map(_bare_shard, [str(city)] * cores))
        return reports / (time.perf_counter() - started)


def _warm(_: int) -> None:
    LinearRoadKernels()


def _bare_shard(city: str) -> int:
    events = pl.read_parquet(Path(city) / "events" / "*.parquet").filter((pl.col("type") == 0) & (pl.col("time") < 240))
    columns = {name: events[name].to_numpy() for name in ("time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")}
    bounds = np.searchsorted(columns["time"], np.arange(241))
    replica = np.arange(SHARD_REPLICAS)
    host = LinearRoadKernels()
    for first, last in pairwise(bounds.tolist()):
        second = {name: np.repeat(values[first:last], SHARD_REPLICAS) for name, values in columns.items()}
        second["vid"] = second["vid"] + np.tile(replica * 10**7, last - first)
        second["xway"] = second["xway"] + np.tile(replica, last - first)
        host.feed(second)
    return SHARD_REPLICAS * len(events)


def _arterial(*words: object) -> str:
    done = subprocess.run(_command(*words), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
