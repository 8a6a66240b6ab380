"""The history: how long one expressway takes to make, and how fast a stream looks it up."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arterial.engine.session import spark_session
from arterial.linearroad.history import counted, make_history
from arterial.linearroad.lookup import SegmentLookup, TollLookup
from benchmarks.figure import Figure

VEHICLES = 150_000
LOOK_UPS = 100_000
JOURNEYS = 48_000
ROUNDS = 21


def measure() -> list[Figure]:
    """Make the history of one expressway as Parquet and as CSV, then look up in it."""
    folder = Path(tempfile.mkdtemp(prefix="arterial-bench-history-"))
    try:
        spark = spark_session("bench-history")
        spark.range(1).count()
        wanted = counted(VEHICLES, 1)
        figures = []
        for form, target in (("parquet", 90.0), ("csv", None)):
            started = time.perf_counter()
            make_history(spark, wanted, folder / form, seed=1, form="csv" if form == "csv" else "parquet")
            seconds = time.perf_counter() - started
            remark = f"{wanted.rows:,} rows and their look-up form"
            figures.append(Figure(f"history of one expressway, {form}", seconds, "s", at_most=target, remark=remark))
        return figures + _look_ups(folder / "parquet") + _builds(folder / "csv", folder / "built")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look_ups(history: Path) -> list[Figure]:
    random = np.random.default_rng(1)
    tolls, segments = TollLookup.open(history), SegmentLookup.open(history)

    def expenditures() -> None:
        vid, day = random.integers(0, VEHICLES, LOOK_UPS), random.integers(1, 70, LOOK_UPS)
        tolls.tolls(vid, day, np.zeros(LOOK_UPS, np.int64))

    def journeys() -> None:
        sinit, send = random.integers(0, 100, JOURNEYS), random.integers(0, 100, JOURNEYS)
        dow, tod = random.integers(1, 8, JOURNEYS), random.integers(1, 1441, JOURNEYS)
        segments.travel_times(np.zeros(JOURNEYS, np.int64), sinit, send, dow, tod)

    return [
        Figure(f"{LOOK_UPS:,} daily expenditures in one call", _warm(expenditures), "ms", at_most=50, remark="warm"),
        Figure(f"{JOURNEYS:,} travel times in one call", _warm(journeys), "ms", remark="all of a three-hour run"),
    ]


def _warm(work: Callable[[], None]) -> float:
    """Median milliseconds once the code is compiled and the pages are in memory; drawing the keys is included."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds[ROUNDS // 2 :])


def _builds(history: Path, cache: Path) -> list[Figure]:
    figures = []
    for name, opened in (("tolls", TollLookup), ("segments", SegmentLookup)):
        started = time.perf_counter()
        opened.build(history / f"{name}.csv", cache)
        figures.append(Figure(f"look-up form of {name}.csv", time.perf_counter() - started, "s", remark="as of others"))
    return figures
