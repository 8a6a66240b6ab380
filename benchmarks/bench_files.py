"""A large CSV file through a grouped window, against the same tuples in Parquet: speed, and the memory it takes.

The environment variable ARTERIAL_BENCH_FILE_MB says how large the CSV is; 5000 is what the target is for.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from benchmarks.figure import Figure

MEGABYTES = int(os.environ.get("ARTERIAL_BENCH_FILE_MB", "300"))
BLOCK = 500_000
ROWS_A_SECOND = 1000
SHARE = 0.3
"""At least so much of Parquet's speed."""
MOST_MEGABYTES = 2000
"""However large the file is."""


def measure() -> list[Figure]:
    """Tuples a second of each, their ratio, and the peak of memory of the process that reads CSV."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as folder:
        place = Path(folder)
        rows = _write(place)
        size = (place / "in.csv").stat().st_size / 1e6
        _in_process(place / "few.csv", place / "warm")
        parquet, _ = _in_process(place / "parquet", place / "1")
        csv, memory = _in_process(place / "in.csv", place / "2")
    return [
        Figure("Parquet through a grouped window", rows / parquet, "tuples/s", remark=f"{rows:,} tuples, --local"),
        Figure("CSV through a grouped window", rows / csv, "tuples/s", remark=f"{size:,.0f} MB, with its intake"),
        Figure("CSV against Parquet", parquet / csv, "of its speed", at_least=SHARE),
        Figure("memory of the run on CSV", memory, "MB", at_most=MOST_MEGABYTES, remark="peak of the process"),
    ]


def _write(place: Path) -> int:
    """The same tuples as one CSV file and as a folder of Parquet."""
    rng = np.random.default_rng(1)
    (place / "parquet").mkdir()
    rows = 0
    with (place / "in.csv").open("wb") as file:
        while file.tell() < MEGABYTES * 1e6:
            times = (np.arange(rows, rows + BLOCK) * (1_000_000 // ROWS_A_SECOND)) + 1_772_344_800_000_000
            frame = pl.DataFrame(
                {
                    "time": pl.Series(times).cast(pl.Datetime("us")),
                    "vehicle": rng.integers(0, 10_000, BLOCK),
                    "speed": rng.uniform(0, 100, BLOCK).round(1),
                    "road": pl.Series(["A1", "A7", "B96"])[rng.integers(0, 3, BLOCK)],
                }
            )
            frame.write_parquet(place / "parquet" / f"{rows:012d}.parquet")
            frame.write_csv(file, include_header=not rows, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
            if not rows:
                frame.head(1000).write_csv(place / "few.csv", datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
            rows += BLOCK
    return rows


def _in_process(path: Path, checkpoint: Path) -> tuple[float, float]:
    """Seconds and megabytes of a run in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (path, checkpoint))


def _run(path: Path, checkpoint: Path) -> tuple[float, float]:
    net = Network("windows")
    schema = {"time": "timestamp", "vehicle": "int64", "speed": "float64", "road": "string"}
    by_vehicle = net.source("in", schema).group_by("vehicle")
    by_vehicle.tumble("per_minute", every="1 minute", peak="max(speed)", n="count(*)").output("out")
    began = time.perf_counter()
    sinks = {"out": MemorySink()}
    run_locally(net.value, {"in": FileSource(path)}, sinks, checkpoint, Settings(shards=2)).wait()
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
