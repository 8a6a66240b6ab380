"""Overload in real runs: a paced source, a slow box, and outputs that come back into their good zones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from arterial import Delay, FileSource, MemorySink, Network, NetworkValue, QoS, Settings
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.run import run
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.service.shedding.overload import late
from tests.service.networks import Slow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BURST = range(6, 18)
RATE, MORE = 200, 1600
SECONDS = 34


def network(seconds: float, delay: Delay) -> NetworkValue:
    net = Network("overloaded")
    s = net.source("s", {"time": "timestamp", "v": "float64"})
    valued = QoS(delay, value=("v", [(0, 0.1), (100, 1)]))
    s.box(Slow("slow", seconds)).output("valued", qos=valued)
    s.output("quick", qos=delay)
    return net.value


def data(folder: Path) -> FileSource:
    """`RATE` tuples a second, and `MORE` during the burst; half of the values are worth little."""
    counts = [MORE if second in BURST else RATE for second in range(SECONDS)]
    micros = [int(1e6 * (s + i / n)) for s, n in enumerate(counts) for i in range(n)]
    frame = pl.DataFrame({"time": micros, "v": [float(i * 7 % 100) for i in range(len(micros))]})
    frame.with_columns(pl.col("time").cast(pl.Datetime("us"))).write_parquet(folder / "s.parquet")
    return FileSource(folder / "s.parquet", speed=1.0)


def check(steps: list[StepFigures], value: NetworkValue) -> None:
    """In their good zones again within 10 s of the burst's begin, and no shedding 10 s after its end."""
    began = steps[0].born
    shed = [step for step in steps if step.shed]
    assert shed, "the load was borne without shedding: the box is not slow enough for a test"
    lates = [step.born - began for step in steps if late(value, step)]
    assert not [at for at in lates if BURST.start + 10 < at < BURST.stop]
    assert max(step.born - began for step in shed) < BURST.stop + 10
    assert not [at for at in lates if at > BURST.stop + 10]


ROWS = {second: MORE if second in BURST else RATE for second in range(SECONDS)}


def joined(slow: float) -> NetworkValue:
    """Counts of pairs that are slow to make, marks that are slower than they need be, and the tuples themselves."""
    net = Network("overflowing")
    left = net.source("left", {"time": "timestamp", "k": "int64"})
    right = net.source("right", {"time": "timestamp", "k": "int64"})
    left.output("raw", qos=Delay(4, 12))
    left.box(Slow("mark", slow / 10)).output("marks", qos=QoS(Delay(4, 12), ((0, 0), (0.5, 1), (1, 1))))
    pairs = left.group_by("k").join("pairs", right.group_by("k"), within="1 second")
    counts = pairs.box(Slow("slow", slow)).tumble("counted", every="1 second", n="count(*)", most="max(k)")
    counts.output("joined", qos=Delay(4, 12))
    return net.value


@pytest.mark.slow
def test_with_overflow_no_answer_is_lost(tmp_path: Path) -> None:
    """A join waits, marks are settled, the tuples themselves come in time; and all is answered once in the end."""
    micros = [int(1e6 * (s + i / n)) for s, n in ROWS.items() for i in range(n)]
    frame = pl.DataFrame({"time": micros, "k": range(len(micros))})
    frame.with_columns(pl.col("time").cast(pl.Datetime("us"))).write_parquet(tmp_path / "s.parquet")

    def run_it(name: str, slow: float, speed: float | None, settings: Settings) -> LocalRun:
        sinks = {output: MemorySink() for output in ("raw", "marks", "joined")}
        sources = {source: FileSource(tmp_path / "s.parquet", speed=speed) for source in ("left", "right")}
        running = run_locally(joined(slow), sources, sinks, tmp_path / name, settings)
        assert running.wait(300)
        return running

    plain = run_it("plain", 0.0, None, Settings(shards=1))
    settings = Settings(shards=1, schedule="trains", shed=True, overflow=True, headroom=0.9)
    loaded = run_it("loaded", 1.2e-3, 1.0, settings)
    for output in ("raw", "marks", "joined"):
        answers = [*loaded[output].rows(), *loaded.settled(output).rows()]
        assert sorted(answers) == sorted(plain[output].rows()), output
    steps = list(read_steps(loaded.checkpoint))
    began = steps[0].born
    waited = [step.born - began for step in steps if sum(step.held.values()) > MORE]
    assert waited, "the load was borne: the box is not slow enough for a test"
    assert not steps[-1].held
    value = joined(1.2e-3)
    lates = [step.born - began for step in steps if set(late(value, step)) - {"joined"}]
    assert not [at for at in lates if not BURST.start <= at < BURST.start + 10 and at < SECONDS]


@pytest.mark.slow
def test_in_this_process(tmp_path: Path) -> None:
    value = network(1.2e-3, Delay(2, 10))
    settings = Settings(shards=1, schedule="trains", shed=True, headroom=0.9)
    running = run_locally(value, {"s": data(tmp_path)}, {"quick": MemorySink()}, tmp_path / "c", settings)
    running.wait()
    check(list(read_steps(running.checkpoint)), value)


@pytest.mark.slow
def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    value = network(2e-3, Delay(4, 10))
    settings = Settings(shards=2, schedule="trains", shed=True, headroom=0.9)
    running = run(value, {"s": data(tmp_path)}, {"quick": MemorySink()}, tmp_path / "c", settings, spark=spark)
    running.wait()
    check(list(read_steps(running.checkpoint)), value)
