"""The history: how long one expressway takes to make, and how fast a stream looks it up."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from arterial.engine.spark.session import spark_session
from arterial.linearroad.history.lookup import SegmentLookup, TollLookup
from arterial.linearroad.history.make import counted, make_history
from arterial.linearroad.semantics.city import LAST_EXPENDITURE_DAY
from benchmarks.figure import Figure

Integers = NDArray[np.int64]

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
        return figures + _look_ups(folder / "parquet") + _others(folder) + _builds(folder / "csv", folder / "built")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look_ups(history: Path) -> list[Figure]:
    random = np.random.default_rng(1)
    tolls, segments = TollLookup.open(history), SegmentLookup.open(history)
    sorted_keys = np.arange(len(tolls), dtype=np.int64)

    def some_expenditures() -> tuple[Integers, ...]:
        return random.integers(0, VEHICLES, LOOK_UPS), random.integers(1, 70, LOOK_UPS), np.zeros(LOOK_UPS, np.int64)

    def some_keys() -> tuple[Integers, ...]:
        return sorted_keys, random.integers(0, len(sorted_keys), LOOK_UPS)

    def some_journeys() -> tuple[Integers, ...]:
        ends = random.integers(0, 100, (2, JOURNEYS))
        return np.zeros(JOURNEYS, np.int64), *ends, random.integers(1, 8, JOURNEYS), random.integers(1, 1441, JOURNEYS)

    expenditures = _warm(tolls.tolls, some_expenditures)
    journeys = _warm(segments.travel_times, some_journeys)
    return [
        Figure(f"{LOOK_UPS:,} daily expenditures in one call", expenditures, "ms", at_most=50, remark="warm"),
        Figure("… by binary search over all rows", _warm(np.searchsorted, some_keys), "ms", remark="for comparison"),
        Figure(f"{JOURNEYS:,} travel times in one call", journeys, "ms", remark="all of a three-hour run"),
    ]


def _others(folder: Path) -> list[Figure]:
    """A TollHistory unlike ours: ids up to 2^62, another expressway each day, rows in no order."""
    random = np.random.default_rng(2)
    vids = np.unique(random.integers(0, 2**62, VEHICLES))
    rows = random.permutation(len(vids) * LAST_EXPENDITURE_DAY)
    columns = {
        "vid": vids[rows // LAST_EXPENDITURE_DAY],
        "day": rows % LAST_EXPENDITURE_DAY + 1,
        "xway": random.integers(0, 10, len(rows)),
        "tolls": random.integers(0, 100, len(rows)),
    }
    pa.parquet.write_table(pa.table(columns), folder / "others.parquet")
    started = time.perf_counter()
    tolls = TollLookup.build(folder / "others.parquet", folder / "others")
    seconds = time.perf_counter() - started

    def some_expenditures() -> tuple[Integers, ...]:
        asked = random.integers(0, len(rows), LOOK_UPS)
        return columns["vid"][asked], columns["day"][asked], columns["xway"][asked]

    expenditures = _warm(tolls.tolls, some_expenditures)
    return [
        Figure("look-up form of a TollHistory in no order", seconds, "s", remark="ids up to 2^62, ten expressways"),
        Figure(f"{LOOK_UPS:,} daily expenditures in that", expenditures, "ms", at_most=50, remark="warm"),
    ]


def _warm(work: Callable[..., object], some: Callable[[], tuple[Integers, ...]]) -> float:
    """Median milliseconds once the code is compiled and the pages are in memory."""
    seconds = []
    for _ in range(ROUNDS):
        arguments = some()
        started = time.perf_counter()
        work(*arguments)
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds[ROUNDS // 2 :])


def _builds(history: Path, cache: Path) -> list[Figure]:
    figures = []
    for name, opened in (("tolls", TollLookup), ("segments", SegmentLookup)):
        started = time.perf_counter()
        opened.build(history / f"{name}.csv", cache)
        figures.append(Figure(f"look-up form of {name}.csv", time.perf_counter() - started, "s", remark="as of others"))
    return figures
