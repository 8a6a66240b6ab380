"""A sample of the suite through real Spark: the cases of the boxes, and some random networks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from arterial import Network
from arterial.connectors.memory_source import ArrivingSource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.run import Settings, run
from arterial.reference import interpret
from arterial.testing import compare, steps
from tests.conformance.networks import networks
from tests.conformance.plans import Plan, world
from tests.conformance.test_boxes import CASES
from tests.conformance.tuples import SCHEMA, arrivals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USUAL = ("update_relation",)


def _check(
    spark: SparkSession, folder: Path, net: Network, tuples: dict[str, list[dict[str, Any]]], trains: int
) -> None:
    cut = steps(net.value, tuples, trains, seed=trains)
    sources = {name: ArrivingSource([step[name] for step in cut]) for name in tuples}
    sinks = {box.name: MemorySink() for box in net.value.boxes if not box.outputs}
    running = run(net.value, sources, sinks, folder, Settings(shards=2), spark=spark)
    assert running.wait(300)
    got = {name: sink.read().to_dicts() for name, sink in sinks.items()}
    compare(net.value, interpret(net.value, tuples), got, "Spark against the interpreter")


@pytest.mark.parametrize("kind", [k if k in USUAL else pytest.param(k, marks=pytest.mark.slow) for k in sorted(CASES)])
def test_boxes_on_spark(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=2)
    stream.late.output("late")
    CASES[kind](stream)
    _check(spark, tmp_path / "checkpoint", net, {"s": arrivals(80, seed=5)}, trains=4)


@pytest.mark.slow
def test_a_plan_with_gpac_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    steps = (("select", "speed > 45"), ("match", "left.object = right.object"))
    plan = Plan({"focal": 2, "length": 12, "width": 9}, steps, "by type", timeout=15, moves=False)
    _check(spark, tmp_path / "checkpoint", plan.drawn(1), world(3), trains=4)


@pytest.mark.slow
def test_random_networks_on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        derandomize=True,
        database=None,
    )
    @given(net=networks(), seed=st.integers(0, 2**30))
    def check(net: Network, seed: int) -> None:
        tuples = {box.name: arrivals(40, seed + i) for i, box in enumerate(net.value.boxes) if not box.inputs}
        _check(spark, tmp_path_factory.mktemp("random") / "checkpoint", net, tuples, trains=3)

    check()
