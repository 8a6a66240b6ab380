"""Static analysis, against what a simulated run does."""

from __future__ import annotations

import math

import pytest

from arterial import Delay, Network, NetworkValue
from arterial.figures.window import Window
from arterial.service.prediction.analysis import analyse
from arterial.service.simulation import SimulatedRun
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join

SELECTIVITY = {"d.out": 0.2, "d.otherwise": 0.8, "some.out": 0.5, "pairs.out": 0.5, "rare.out": 0.1}
FIXED = 0.2


def recorded(network: NetworkValue, cost: dict[str, float], rate: float) -> Window:
    """The figures of a run whose load rises and falls."""
    sources = [box.name for box in network.boxes if not box.inputs]
    rates = {name: lambda t: rate * (0.5 + 0.4 * math.sin(t)) for name in sources}
    run = SimulatedRun(network, cost, rates, SELECTIVITY, fixed=FIXED, cores=2).run(30)
    return Window(math.inf, run.steps)


def keeps_up(network: NetworkValue, cost: dict[str, float], rate: float) -> bool:
    sources = [box.name for box in network.boxes if not box.inputs]
    rates = {name: lambda t: rate for name in sources}
    run = SimulatedRun(network, cost, rates, SELECTIVITY, fixed=FIXED, cores=2).run(120)
    last = run.steps[-1]
    return sum(source.waiting or 0 for source in last.sources.values()) < rate and last.seconds < 5


@pytest.mark.parametrize(("network", "cost"), [(fan_out(), FAN_OUT_COST), (join(), JOIN_COST)], ids=["fan-out", "join"])
def test_the_rate_of_saturation_is_that_of_a_run(network: NetworkValue, cost: dict[str, float]) -> None:
    sources = [box.name for box in network.boxes if not box.inputs]
    found = analyse(recorded(network, cost, 5_000), network, dict.fromkeys(sources, 10_000.0), 2, 0.8, 500_000)
    assert found is not None
    saturation = 10_000 * found.saturates_at
    assert keeps_up(network, cost, 0.85 * saturation)
    assert not keeps_up(network, cost, 1.15 * saturation)
    assert found.fixed == pytest.approx(FIXED, rel=0.1)


def test_rates_costs_and_selectivities() -> None:
    network = fan_out()
    found = analyse(recorded(network, FAN_OUT_COST, 5_000), network, {"reports": 10_000.0}, 2, 0.8, 500_000)
    assert found is not None
    boxes = {box.name: box for box in found.boxes}
    assert boxes["d"].rate == pytest.approx(10_000)
    assert boxes["heavy"].rate == pytest.approx(2_000, rel=0.01)
    assert boxes["b"].cost == pytest.approx(30e-6, rel=1e-3)
    assert boxes["b"].selectivity == pytest.approx(1)
    assert boxes["b"].work == pytest.approx(0.3, rel=1e-3)
    assert found.bottleneck is boxes["b"]
    assert found.min_cap == pytest.approx(sum(box.work for box in found.boxes))
    assert found.is_sized
    assert found.first_to_leave is not None
    assert found.first_to_leave.limit == 2


def test_an_output_leaves_its_good_zone_at_the_rate_that_is_said() -> None:
    network = fan_out()
    found = analyse(recorded(network, FAN_OUT_COST, 5_000), network, {"reports": 10_000.0}, 2, 0.8, 500_000)
    assert found is not None
    first = found.first_to_leave
    assert first is not None
    for factor, late in ((0.9, False), (1.1, True)):
        rate = {"reports": lambda t, f=factor: 10_000 * first.leaves_at * f}
        run = SimulatedRun(network, FAN_OUT_COST, rate, SELECTIVITY, fixed=FIXED, cores=2).run(60)
        assert (run.steps[-1].outputs[first.name].delay > first.limit) == late


def test_a_limit_that_no_step_can_meet_is_said() -> None:
    net = Network("n")
    net.source("s", {"time": "int64"}).map("m", x="1").output("o", qos=Delay(0.3, 1))
    found = analyse(recorded(net.value, {"m": 1e-6}, 1_000), net.value, {"s": 1.0}, 2, 0.8, 500_000)
    assert found is not None
    assert not found.outputs[0].is_feasible
    assert found.first_to_leave is found.outputs[0]


def test_too_small_a_machine() -> None:
    network = fan_out()
    found = analyse(recorded(network, FAN_OUT_COST, 5_000), network, {"reports": 100_000.0}, 2, 0.8, 500_000)
    assert found is not None
    assert not found.is_sized
    assert found.saturates_at < 1
    assert all(output.delay == math.inf for output in found.outputs)
