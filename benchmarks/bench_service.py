"""Quality of service: what `arterial check` predicts against what runs do, and how good the shedder's plans are."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join, load_of

from arterial import Delay, Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.life import Run
from arterial.engine.run.local import run_locally
from arterial.engine.run.run import run
from arterial.engine.run.settings import Settings
from arterial.engine.spark.session import spark_session
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.service.prediction.analysis import analyse
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.greedy import Choices, Plan, choose
from arterial.service.shedding.optimum import optimum, uniform
from arterial.service.shedding.shedder import Shedder
from arterial.service.simulation import SimulatedRun
from arterial.service.values import intervals
from benchmarks.figure import Figure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = 4_000_000
SAMPLE = 1_000_000
SHARDS = 2
TURNS = 5


def measure() -> list[Figure]:
    """All figures of quality of service."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        spark = spark_session("bench service", master=f"local[{SHARDS}]")
        try:
            return [*_saturation(spark, folder), *_plans(), *_decisions()]
        finally:
            spark.stop()


def _network() -> NetworkValue:
    net = Network("check")
    s = net.source("s", {"time": "int64", "key": "int32", "speed": "float64"})
    fast = s.map("metric", kmh="speed * 1.6").filter("fast", "kmh > 60")
    fast.group_by("key").tumble("per_minute", size=60, n="count(*)", mean="avg(kmh)").output("means", qos=Delay(5, 20))
    fast.filter("very_fast", "kmh > 150").output("alerts", qos=Delay(2, 10))
    return net.value


def _saturation(spark: SparkSession, folder: Path) -> list[Figure]:
    """The rate at which a run that never rests reads, against the prediction from runs on a sample."""
    generator = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "time": np.arange(TUPLES, dtype=np.int64) // 10_000,
            "key": generator.integers(0, 10_000, TUPLES, dtype=np.int32),
            "speed": generator.uniform(0, 125, TUPLES),
        }
    )
    frame.write_parquet(folder / "all.parquet")
    frame[:SAMPLE].write_parquet(folder / "sample.parquet")
    value = _network()

    def local(path: Path, size: int) -> Run:
        return run_locally(value, {"s": FileSource(path)}, _sinks(), _new(folder), Settings(1, size))

    def on_spark(path: Path, size: int) -> Run:
        return run(value, {"s": FileSource(path)}, _sinks(), _new(folder), Settings(SHARDS, size), spark=spark)

    figures = []
    hosts: dict[str, tuple[Callable[[Path, int], Run], int]] = {
        "in process": (local, 1),
        "on Spark": (on_spark, SHARDS),
    }
    for name, (start, cores) in hosts.items():
        turns = [_predicted_and_reached(value, start, cores, folder) for _ in range(TURNS)]
        predicted, reached = (statistics.median(one) for one in zip(*turns, strict=True))
        remark = f"predicted {predicted:,.0f}, reached {reached:,.0f} tuples/s; medians of {TURNS} turns"
        figures.append(
            Figure(f"check: error of the saturation, {name}", abs(predicted / reached - 1), "share", 0.2, remark=remark)
        )
    return figures


def _predicted_and_reached(
    value: NetworkValue, start: Callable[[Path, int], Run], cores: int, folder: Path
) -> tuple[float, float]:
    """The rate at which queues grow, by runs on a sample, and the rate of a run that never rests."""
    steps = []
    for size in (20_000, 200_000):
        running = start(folder / "sample.parquet", size)
        running.wait()
        steps += list(read_steps(running.checkpoint))[2:]
    predicted = analyse(Window(math.inf, steps), value, {"s": 1.0}, cores, 0.8, 500_000)
    assert predicted is not None
    running = start(folder / "all.parquet", 500_000)
    running.wait()
    whole = list(read_steps(running.checkpoint))[2:]
    reached = sum(step.sources["s"].tuples for step in whole) / sum(step.seconds for step in whole)
    return predicted.saturates_at, reached


def _plans() -> list[Figure]:
    values = {one.name: 10 for one in intervals(((0.0, 0.0), (80.0, 0.2), (160.0, 1.0)))[1:]}
    networks = {
        "fan-out": Choices.of(load_of(fan_out(), FAN_OUT_COST, 10_000, {"d": 0.2}), {"valued": values}),
        "join": Choices.of(load_of(join(), JOIN_COST, 10_000, {"some": 0.5, "pairs": 0.5, "rare": 0.1})),
    }
    figures = []
    for name, choices in networks.items():
        for load in (1.5, 2, 4):
            capacity = choices.work(Plan()) / load
            best, greedy, alike = (choices.utility(f(choices, capacity)) for f in (optimum, choose, uniform))
            remark = f"best {best:.3f}, greedy {greedy:.3f}, alike everywhere {alike:.3f}"
            figures.append(Figure(f"shedding: {name} at {load:g} ×", greedy / best, "of the best", None, 0.95, remark))
    return figures


def _decisions() -> list[Figure]:
    """What a decision costs when the window has hundreds of steps."""
    rate = {"reports": lambda t: 5_000.0}
    simulated = SimulatedRun(fan_out(), FAN_OUT_COST, rate, {"d.out": 0.2, "d.otherwise": 0.8}, fixed=0.05).run(15)
    figures = []
    for controller in (Shedder(2), Scheduler(2)):
        began = time.perf_counter()
        for _ in range(20):
            controller.turn.decided = -math.inf
            controller(simulated.window, simulated.network, simulated.steering)
        name = type(controller).__name__.lower()
        remark = f"{len(simulated.window.steps)} steps, {len(simulated.network.boxes)} boxes"
        figures.append(
            Figure(f"a decision of the {name}", 1e3 * (time.perf_counter() - began) / 20, "ms", remark=remark)
        )
    return figures


def _sinks() -> dict[str, MemorySink]:
    return {"means": MemorySink(), "alerts": MemorySink()}


def _new(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))
