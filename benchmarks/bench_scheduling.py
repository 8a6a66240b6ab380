"""Train scheduling by the real clock: the length that a run finds by itself against fixed ones, on both hosts.

At a fifth of what can be done the p99 of the delays counts, at as much as can be read the throughput. All lengths take
turns: the first runs on a new Spark are the slowest, whatever their trains.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from arterial import Delay, FileSource, Network, NetworkValue, Settings
from arterial.engine.run.life import Run
from arterial.engine.run.local import run_locally
from arterial.engine.run.run import run
from arterial.engine.spark.session import spark_session
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window, percentile
from benchmarks.figure import Figure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARDS = 2
TUPLES = 20_000_000
"""A run of fewer would be over in a fifth of a second in process: too short to compare."""
LOW, SECONDS, WARM = 0.2, 7, 2
FIXED = (5_000, 50_000, 500_000)
TURNS, STEPS = 5, 40
"""How often each length has its turn, and in how many steps at most as much as can be read is read."""
MOST = 500_000
"""The longest train that a run may choose."""


def measure() -> list[Figure]:
    """Both hosts."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        figures = _compared("in process", folder, None)
        spark = spark_session("bench scheduling", master=f"local[{SHARDS}]")
        try:
            return figures + _compared("on Spark", folder, spark)
        finally:
            spark.stop()


def _compared(host: str, folder: Path, spark: SparkSession | None) -> list[Figure]:
    for size in (None, *FIXED):
        _write(folder / f"all-{size}.parquet", min(TUPLES, STEPS * (size or MOST)), 1e6)
    _steps(folder / "all-None.parquet", MOST, spark)  # compiles
    whole = _in_turns((None, *FIXED), lambda size: _steps(folder / f"all-{size}.parquet", size, spark))
    high = {size: statistics.median(map(_throughput, turns)) for size, turns in whole.items()}
    best = max(FIXED, key=lambda size: high[size])
    rate = LOW * high[best]
    _write(folder / "some.parquet", int(rate * SECONDS), rate)
    enough = [size for size in FIXED if high[size] > rate]  # others fall ever further behind
    some = _in_turns((None, *enough), lambda size: _steps(folder / "some.parquet", size, spark, speed=1.0))
    low = {size: _p99(turns) for size, turns in some.items()}
    quickest = min(enough, key=lambda size: low[size])
    return [
        Figure(
            f"scheduling {host}: p99 at {LOW:g} of the load, against the best fixed length", low[None] / low[quickest],
            "times", at_most=1.3, remark=f"{low[None]:.3f} s against {low[quickest]:.3f} s with {quickest:,}",
        ),
        Figure(
            f"scheduling {host}: throughput, against the best fixed length", high[None] / high[best], "times",
            at_least=0.9, remark=f"{high[None]:,.0f} tuples/s against {high[best]:,.0f} with {best:,}",
        ),
    ]  # fmt: skip


def _in_turns(
    sizes: Iterable[int | None], run: Callable[[int | None], list[StepFigures]]
) -> dict[int | None, list[list[StepFigures]]]:
    """The steps of every run with each length; None is the one that the run finds."""
    found: dict[int | None, list[list[StepFigures]]] = {size: [] for size in sizes}
    order = list(found)
    for turn in range(TURNS):  # each comes after each other one, since what ran before leaves its traces
        first = turn % len(order)
        for size in order[first:] + order[:first]:
            found[size].append(run(size))
    return found


def _network() -> NetworkValue:
    net = Network("trains")
    s = net.source("s", {"time": "timestamp", "key": "int32", "speed": "float64"})
    fast = s.map("metric", kmh="speed * 1.6").filter("fast", "kmh > 60")
    fast.group_by("key").tumble("per_second", every="1 second", n="count(*)", mean="avg(kmh)").output("means")
    fast.filter("very_fast", "kmh > 150").output("alerts", qos=Delay(2, 10))
    return net.value


def _write(path: Path, tuples: int, rate: float) -> None:
    generator = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "time": (np.arange(tuples) * (1e6 / rate)).astype(np.int64),
            "key": generator.integers(0, 1_000, tuples, dtype=np.int32),
            "speed": generator.uniform(0, 125, tuples),
        }
    )
    frame.with_columns(pl.col("time").cast(pl.Datetime("us"))).write_parquet(path)


def _steps(path: Path, size: int | None, spark: SparkSession | None, speed: float | None = None) -> list[StepFigures]:
    """A run with trains of a fixed length at most, or by the scheduler."""
    source = FileSource(path, speed=speed)
    chosen = Settings(1 if spark is None else SHARDS, size or MOST, schedule="off" if size else "trains")
    checkpoint = Path(tempfile.mkdtemp(dir=path.parent))
    running: Run
    if spark is None:
        running = run_locally(_network(), {"s": source}, {}, checkpoint, chosen)
    else:
        running = run(_network(), {"s": source}, {}, checkpoint, chosen, spark=spark)
    running.wait()
    return [step for step in read_steps(running.checkpoint) if step.sources["s"].tuples]


def _p99(turns: list[list[StepFigures]]) -> float:
    """Of the tuples of all turns together: one pause of the machine must not decide."""
    window = Window(math.inf, [step for steps in turns for step in steps if step.born - steps[0].born > WARM])
    return percentile(window.delays("alerts"), 0.99) or 0.0


def _throughput(steps: list[StepFigures]) -> float:
    """Tuples a second, once code is loaded."""
    counted = steps[2:] if len(steps) > 4 else steps[1:] or steps
    seconds = counted[-1].born + counted[-1].seconds - counted[0].born
    return sum(step.sources["s"].tuples for step in counted) / seconds
