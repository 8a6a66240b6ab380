"""The controllers that a run's settings ask for, and what figures they are given."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arterial import Delay, FileSource, Network, NetworkValue, QoS, RunError, Settings, function
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.control.controllers import controllers_for
from arterial.engine.run.local import run_locally
from arterial.figures.steps_file import read_steps
from arterial.network.train import Train
from arterial.service.holding.holder import Holder
from arterial.service.values import histogram
from tests.engine.attach.asked import Gated

GRAPH = ((0.0, 0.0), (100.0, 1.0))


FRAME = pl.DataFrame(
    {"time": range(1000), "k": [0] * 1000, "v": [float(i % 100) for i in range(1000)]},
    schema={"time": pl.Int64, "k": pl.Int32, "v": pl.Float64},
)


def source(folder: Path, frame: pl.DataFrame) -> FileSource:
    frame.write_parquet(folder / "s.parquet")
    return FileSource(folder / "s.parquet")


def network() -> NetworkValue:
    net = Network("n")
    s = net.source("s", {"time": "int64", "k": "int32", "v": "float64"})
    s.output("valued", qos=QoS(Delay(2, 10), value=("v", GRAPH)))
    s.group_by("k").tumble("t", size=5, n="count(*)").output("counts", qos=Delay(5, 20))
    return net.value


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (Settings(), []),
        (Settings(schedule="trains"), ["Scheduler"]),
        (Settings(schedule="state", shed=True), ["Shedder", "Scheduler", "Holder"]),
        (Settings(schedule="feedback"), ["Scheduler", "Holder"]),
        (Settings(schedule="trains", shed=True, overflow=True), ["Shedder", "Scheduler", "Holder"]),
        (Settings(shed=True, overflow=True), ["Shedder", "Holder"]),
    ],
)
def test_who_decides(settings: Settings, names: list[str]) -> None:
    found = controllers_for(settings, compile_network(network(), 2))
    assert [type(controller).__name__ for controller in found] == names


def test_only_what_can_wait_is_held() -> None:
    """Nothing can wait where the source is read; the branch of `counts` begins behind a shuffle."""
    _, holder = controllers_for(Settings(schedule="state"), compile_network(network(), 2))
    assert isinstance(holder, Holder)
    assert holder.holdable is not None
    assert "s.out → valued.in" not in holder.holdable
    assert any(arc.endswith("t.in") for arc in holder.holdable)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"headroom": 0}, "headroom 0: expected a share"),
        ({"headroom": 1.5}, "headroom 1.5"),
        ({"schedule": "train"}, "schedule 'train': expected one of off, trains.*'trains'"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(RunError, match=says):
        Settings(**settings)


@pytest.mark.thorough
def test_the_slots_of_a_local_run_take_turns(tmp_path: Path) -> None:
    """So a box counts with all of them, and only one core can be planned with."""

    @function(reads=["v"], produces="float64")
    def slow(v: pl.Series) -> pl.Series:
        time.sleep(len(v) * 1e-3)
        return v

    net = Network("n")
    net.source("s", {"time": int, "k": int, "v": float}).map("work", w=slow).output("o")
    frame = FRAME.with_columns(pl.col("k").cast(pl.Int64))
    settings = Settings(shards=2, schedule="trains", train_size=250)
    run = run_locally(net.value, {"s": source(tmp_path, frame)}, {}, tmp_path / "c", settings)
    run.wait()
    first = run.status.window["bottlenecks"][0]
    assert (first["box"], first["share"] > 0.6) == ("work", True), run.status.window["bottlenecks"]
    assert all(step.in_turn for step in read_steps(run.checkpoint))
    (scheduler,) = controllers_for(settings, run.plan, 1)
    assert scheduler.cores == 1  # type: ignore[attr-defined]


def test_values_are_counted_and_steps_have_what_controllers_need(tmp_path: Path) -> None:
    settings = Settings(shards=2, train_size=100, schedule="feedback", shed=True)
    running = run_locally(network(), {"s": source(tmp_path, FRAME)}, {}, tmp_path / "c", settings)
    running.wait()
    counts: dict[str, int] = {}
    for step in read_steps(running.checkpoint):
        for name, number in step.outputs["valued"].values.items():
            counts[name] = counts.get(name, 0) + number
    assert counts == histogram(FRAME["v"], GRAPH)
    assert running.status.tuples_out["valued"] == 1000, "nothing is left out without an overload"


@pytest.mark.parametrize("lowest", [50, 0])
def test_utility_counts_what_a_predicate_leaves_out_with_its_own_value(tmp_path: Path, lowest: int) -> None:
    """By hand: values from 50 to 100 are worth 0.2 to 1, evenly. Without those below 75, 0.4 of 0.6 is delivered. That
    a Filter behind stops those below 50 changes nothing."""
    net = Network("n")
    share, value = ((0, 0), (0.8, 1), (1, 1)), ("v", [(0, 0), (50, 0.2), (100, 1)])
    stream = net.source("s", {"time": int, "v": float}).filter("some", "v >= 50")
    stream.output("o", qos=QoS(Delay(1e6, 1e7), share, value))
    frame = pl.DataFrame({"v": [lowest + i * (100 - lowest) / 1000 for i in range(1000)]})
    steps = [Train(frame.select(pl.lit(step, pl.Int64).alias("time"), "v"), step) for step in range(500)]
    source = Gated(steps, first=5)
    run = run_locally(net.value, {"s": source}, {}, tmp_path, Settings(shards=1))

    def utility(step: int) -> float:
        source.may = step
        while run.status.step < step:
            time.sleep(0.01)
        return float(run.status.window["outputs"]["o"]["utility"])

    assert utility(5) == 1
    run.shed("some", keep="v >= 75")
    assert utility(300) == pytest.approx((0.4 / 0.6) / 0.8, abs=0.01)
    run.shed("some")
    assert utility(500) == pytest.approx(1, abs=0.01)
    run.stop()
