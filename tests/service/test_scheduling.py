"""Train lengths in a simulated run: against the best fixed length, at low and at high load."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from arterial import Delay, Network, NetworkValue
from arterial.figures.steering import Steering
from arterial.figures.step import BoxFigures, SourceFigures, StepFigures
from arterial.figures.window import Window
from arterial.service.load import arrival_rate, measure
from arterial.service.scheduling import Scheduler, schedule, train_length
from arterial.service.simulation import SimulatedRun

COST = {"s": 1e-6, "m": 19e-6}
SATURATION = 2 / 20e-6
FIXED = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 500_000]


def network(qos: Delay | None = None) -> NetworkValue:
    net = Network("n")
    net.source("s", {"time": "int64"}).map("m", x="1").output("o", qos=qos)
    return net.value


def run(load: float, train_size: int | None = None, qos: Delay | None = None) -> SimulatedRun:
    controllers = [Scheduler(2)] if train_size is None else []
    rate = {"s": lambda t: load * SATURATION}
    size = 500_000 if train_size is None else train_size
    return SimulatedRun(network(qos), COST, rate, fixed=0.3, cores=2, train_size=size, controllers=controllers).run(60)


def p99(simulated: SimulatedRun) -> float:
    return float(np.percentile([step.outputs["o"].delay for step in simulated.steps if step.born > 10], 99))


def throughput(simulated: SimulatedRun) -> float:
    steps = [step for step in simulated.steps if step.born > 10]
    return sum(step.outputs["o"].tuples for step in steps) / (simulated.now - steps[0].born)


@pytest.mark.parametrize("load", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("qos", [None, Delay(2, 10)], ids=["no graph", "graph"])
def test_at_low_load_as_quick_as_the_best_fixed_length(load: float, qos: Delay | None) -> None:
    best = min(p99(run(load, size, qos)) for size in FIXED)
    assert p99(run(load, qos=qos)) <= 1.3 * best


@pytest.mark.parametrize("load", [0.9, 1.5, 3.0])
def test_at_high_load_as_much_as_the_best_fixed_length(load: float) -> None:
    best = max(throughput(run(load, size)) for size in FIXED)
    assert throughput(run(load)) >= 0.9 * best


def test_a_tight_graph_makes_trains_short_after_a_pause() -> None:
    """What piled up is worked off in trains that the graph allows, not in one that makes everybody wait."""
    rate = {"s": lambda t: SATURATION * (0 if t < 5 else 4 if t < 7 else 0.3)}
    simulated = SimulatedRun(network(Delay(2, 10)), COST, rate, fixed=0.1, cores=2, controllers=[Scheduler(2)]).run(30)
    assert max(step.seconds for step in simulated.steps) <= 1.01


@pytest.mark.parametrize("good", [0.1, 0.5, 1.0, 1.25, 1.4])
@pytest.mark.parametrize("waiting", [100_000, None])
def test_a_graph_that_no_length_can_meet_does_not_stop_the_work(good: float, waiting: int | None) -> None:
    """An empty step takes half a second. What waits, and nothing more comes, is not worked off tuple by tuple; nor is a
    file that is read as fast as can be."""
    window, read = Window(10.0), 0
    for number, tuples in enumerate([1_000, 4, 4, 4, 2_000, 4, 4, 4]):
        read += tuples
        cost = {
            "s": BoxFigures({}, {"out": tuples}, 1e-6 * tuples),
            "m": BoxFigures({"in": tuples}, {}, 19e-6 * tuples),
        }
        left = None if waiting is None else waiting - read
        sources = {"s": SourceFigures(tuples, left)}
        window.add(StepFigures(number, 1, 0.5 * number, 0.5 + 1e-5 * tuples, cost, sources=sources))
    admitted = schedule(window, network(Delay(good, 10)), Steering(), 2, 500_000).admit["s"]
    assert admitted >= 0.25 * 0.5 / 1e-5, "at least a fifth of a step goes into tuples"


def test_sources_share_a_train_by_their_rates() -> None:
    net = Network("n")
    a, b = (net.source(name, {"time": "int64"}) for name in "ab")
    a.union("u", b).output("o", qos=Delay(2, 10))
    rates = {"a": lambda t: 9_000.0, "b": lambda t: 1_000.0}
    simulated = SimulatedRun(net.value, {"u": 100e-6}, rates, controllers=[Scheduler(2)]).run(10)
    assert simulated.steering.admit["a"] == pytest.approx(9 * simulated.steering.admit["b"], rel=0.2)


def test_nothing_is_decided_from_nothing() -> None:
    empty = StepFigures(1, 1, 0.0, 0.1, sources={"s": SourceFigures()})
    assert schedule(Window(10, [empty]), network(), Steering(), 2, 100) == Steering()


def test_the_limit_of_the_run_is_kept() -> None:
    simulated = run(3.0)
    window = simulated.window
    assert sum(schedule(window, network(), Steering(), 2, 1_000).admit.values()) <= 1_000
    assert math.isfinite(sum(simulated.steering.admit.values()))


def test_no_train_is_shorter_than_what_came_during_a_step_that_its_graph_allows() -> None:
    """Beyond saturation, where the fixed cost seems to be nothing for a moment."""
    rate = {"s": lambda t: 1.4 * SATURATION}
    simulated = SimulatedRun(network(Delay(10, 20)), COST, rate, fixed=0.3, cores=2, train_size=500_000).run(3)
    window = simulated.window
    assert not window.steps[-1].sources["s"].waiting
    load = measure(window, simulated.network, 2)
    assert load is not None
    arriving = arrival_rate(window.steps, "s")
    assert train_length(replace(load, fixed=0.0), window) >= 0.99 * arriving * window.steps[-1].seconds
