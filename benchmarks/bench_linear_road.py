"""Linear Road on Spark: windows in real time at several L, speed without pacing, and the same without Spark.

All data is simulated at peak load; larger L are replicas of it. `ARTERIAL_BENCH_L` sets the largest L (default 512).
The yardstick is the same network in one process a core: it reads the same seconds and writes the same answers, without
Spark's shuffle, state store and checkpoint, in trains of the length that the boxes like best. The kernels alone, which
neither read nor write, are shown beside it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.figure import Figure

PEAK_SECOND = 9_600
SECONDS = 420
WINDOW = (330, 420)
WARM_UP = 50
"""Empty steps before the clock starts: Java has then compiled what a step needs."""
FREE_UNTIL = 240
LEAST, MANY = 8, 128
MOST = int(os.environ.get("ARTERIAL_BENCH_L", "512"))


def measure() -> list[Figure]:
    """All figures of the application."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        city, history = folder / "city", folder / "history"
        _arterial("simulate", "--out", city, "--xways", 1, "--seconds", SECONDS, "--start-at", PEAK_SECOND, "--seed", 1)
        _arterial("history", "--data", city, "--out", history)
        kit = ("--data", city, "--tolls", history, "--segments", history)
        return [
            *_free(folder, kit),
            *_window(folder, kit, 10, 2.0, 0.35),
            *_window(folder, kit, MANY, 4.0, None),
            *_window(folder, kit, MOST, None, None),
        ]


def _window(folder: Path, kit: tuple[Any, ...], many: int, worst: float | None, p99: float | None) -> list[Figure]:
    """A window at peak in real time, and whether the validator passes it."""
    out = folder / f"window-{many}"
    span = ("--from", WINDOW[0], "--until", WINDOW[1], "--replicate", many)
    run = json.loads(_arterial("run", *kit, "--out", out, "--speed", 1, "--warm-up", WARM_UP, *span, "--json"))
    judged = subprocess.run(
        _command("validate", *kit, "--output", out, *span, "--json"), stdout=subprocess.PIPE, text=True
    )
    passes = json.loads(judged.stdout)["passes"]
    times = [answers for answers in run["responses"].values() if answers["answers"]]
    rate = run["window_reports"] / (WINDOW[1] - WINDOW[0])
    remark = f"{rate:,.0f} reports/s, {sum(answers['answers'] for answers in times):,} answers"
    return [
        Figure(f"L = {many} passes the validator", float(passes), "yes = 1", at_least=1, remark=remark),
        Figure(f"L = {many}: worst response", max(a["worst"] for a in times), "s", at_most=worst),
        Figure(f"L = {many}: p99 response", max(a["p99"] for a in times), "s", at_most=p99),
    ]


def _free(folder: Path, kit: tuple[Any, ...]) -> list[Figure]:
    """As fast as possible, beside the same without Spark, and the cost of a report as L doubles."""
    rates = {}
    steps = [LEAST * 2**n for n in range(int(math.log2(MANY // LEAST)) + 1)]
    for many in steps:
        words = ("--out", folder / f"free-{many}", "--speed", "max", "--replicate", many, "--until", FREE_UNTIL)
        run = json.loads(_arterial("run", *kit, *words, "--json"))
        rates[many] = run["window_reports"] / run["streaming_seconds"]
    network, kernels = (_in_processes(task, folder) for task in (_network_alone, _kernels_alone))
    growth = [rates[few] / rates[more] for few, more in pairwise(steps)]
    told = ", ".join(f"{rates[many]:,.0f}/s at {many}" for many in steps)
    return [
        Figure("--speed max", rates[MANY], "reports/s", at_least=700_000, remark=f"L = {MANY}"),
        Figure("the same network without Spark, a process a core", network, "reports/s"),
        Figure("--speed max / the same without Spark", rates[MANY] / network, "ratio", at_least=0.5),
        Figure("the kernels alone, a process a core", kernels, "reports/s", remark="neither read nor write"),
        Figure("cost of a report when L doubles, at most", max(growth), "ratio", at_most=1.1, remark=told),
    ]


def _in_processes(task: Callable[[Path, int, int], int], folder: Path) -> float:
    """Reports a second of a task that runs in a process for each core; its first call, on little, does not count."""
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        list(pool.map(task, [folder] * cores, range(cores), [1] * cores))
        began = time.perf_counter()
        reports = sum(pool.map(task, [folder] * cores, range(cores), [MANY // cores] * cores))
        return reports / (time.perf_counter() - began)


def _network_alone(folder: Path, core: int, replicas: int) -> int:
    """The network in this process, on some replicas: from the same files to the same lines of answers."""
    # A process is one of several on the machine, as Spark's workers are.
    os.environ["POLARS_MAX_THREADS"] = "1"
    from arterial.connectors.pace import MAX, Pace
    from arterial.connectors.sink import Delivery
    from arterial.connectors.source import Part, Span
    from arterial.engine.host.inprocess import InProcess
    from arterial.engine.steering.offsets import plan_step
    from arterial.linearroad.application.answer_sink import answer_sinks
    from arterial.linearroad.application.feed import REPORT_SCHEMA, ROAD_KEY
    from arterial.linearroad.application.inputs import StoredInput
    from arterial.linearroad.application.network import History, linear_road_network
    from arterial.linearroad.application.run import TRAIN_SIZE
    from arterial.linearroad.formats.dialects import PAPER
    from arterial.linearroad.semantics.profiles import SPEC
    from arterial.network.train import END, Train, coupled

    work = folder / f"alone-{core}-{replicas}"
    work.mkdir()
    stored = StoredInput(
        folder / "city", work=work, rejects=work / "rejects.csv", begin=0, until=FREE_UNTIL, times=replicas, disorder=0
    )
    pace = Pace(0, MAX)
    feeds = {name: feed.bind(name, REPORT_SCHEMA, "time", work) for name, feed in stored.feeds(pace, 0).items()}
    apart = stored.replication
    history = folder / "history"
    network = linear_road_network(SPEC, History(history, history, apart.vid_step, apart.xway_step))
    host = InProcess(network, ordered_sources=["requests"], split_sources=["reports"])
    sinks = answer_sinks(work, PAPER, work / "parts", pace)
    next(iter(sinks.values())).files.open(work)
    before = {name: feed.begin() for name, feed in feeds.items()}
    step = reports = 0
    while any(progress.through != END for progress in before.values()):
        # As if every step had taken no time: so they soon become as large as they may be.
        now = step / 10
        spans = {name: Span(before[name], after) for name, after in plan_step(feeds, before, TRAIN_SIZE, now).items()}
        (requests,) = feeds["requests"].read_trains(spans["requests"], Part(0, 1))
        answers: dict[str, list[Train]] = {}
        for train in feeds["reports"].read_trains(spans["reports"], Part(0, 1, ROAD_KEY)):
            due = requests.tuples["time"].to_numpy() <= train.through
            asked, requests = (Train(requests.tuples.filter(pl.Series(rows)), train.through) for rows in (due, ~due))
            reports += len(train)
            for name, answered in host.step({"reports": train, "requests": asked}).items():
                answers.setdefault(name, []).append(answered)
        for name, trains in answers.items():
            sinks[name].write(Delivery(name, step, 0, coupled(trains), now))
        before, step = {name: span.after for name, span in spans.items()}, step + 1
    return reports


def _kernels_alone(folder: Path, core: int, replicas: int) -> int:
    from arterial.linearroad.application.kernels.host import LinearRoadKernels

    events = pl.read_parquet(folder / "city" / "events" / "*.parquet")
    events = events.filter((pl.col("type") == 0) & (pl.col("time") < FREE_UNTIL))
    columns = {name: events[name].to_numpy() for name in ("time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")}
    bounds = np.searchsorted(columns["time"], np.arange(FREE_UNTIL + 1))
    replica = np.arange(replicas)
    host = LinearRoadKernels()
    for first, last in pairwise(bounds.tolist()):
        second = {name: np.repeat(values[first:last], replicas) for name, values in columns.items()}
        second["vid"] = second["vid"] + np.tile(replica * 10**7, last - first)
        second["xway"] = second["xway"] + np.tile(replica, last - first)
        host.feed(second)
    return replicas * len(events)


def _arterial(*words: object) -> str:
    done = subprocess.run(_command(*words), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
