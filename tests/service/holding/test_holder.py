"""Priorities in a simulated run: an urgent output and a patient one under a burst."""

from __future__ import annotations

import pytest

from arterial import Delay, Network, NetworkValue
from arterial.figures.window import Window
from arterial.network.qos import good_zone
from arterial.service.holding.branches import branches_of
from arterial.service.holding.holder import Holder, Policy
from arterial.service.simulation import SimulatedRun
from arterial.service.utility import total, utilities

COST = {"s": 1e-6, "quick": 10e-6, "slow": 90e-6}
SATURATION = 2 / sum(COST.values())


def network() -> NetworkValue:
    net = Network("urgent and patient")
    s = net.source("s", {"time": "int64"})
    s.map("quick", x="1").output("urgent", qos=Delay(1, 4))
    s.map("slow", x="1").output("patient", qos=Delay(40, 120))
    return net.value


def burst(policy: Policy | None) -> SimulatedRun:
    rate = {"s": lambda t: SATURATION * (2.5 if 5 <= t < 13 else 0.3)}
    controllers = [] if policy is None else [Holder(2, policy)]
    return SimulatedRun(network(), COST, rate, fixed=0.1, cores=2, controllers=controllers).run(80)


def worst(simulated: SimulatedRun, output: str) -> float:
    return max(step.outputs[output].delay for step in simulated.steps)


def reached(simulated: SimulatedRun) -> float:
    steps = Window(float("inf"), simulated.steps)
    return total(simulated.network, utilities(steps, simulated.network))


def test_a_branch_begins_behind_the_split_point() -> None:
    assert {b.outputs[0].name: b.names for b in branches_of(network()) if len(b.outputs) == 1} == {
        "urgent": ("s.out → quick.in",),
        "patient": ("s.out → slow.in",),
    }
    assert branches_of(network(), frozenset({"slow.out → patient.in"}))[0].boxes == {"patient"}


@pytest.mark.parametrize("policy", ["state", "feedback"])
def test_the_urgent_stays_in_its_good_zone_and_the_patient_catches_up(policy: Policy) -> None:
    simulated = burst(policy)
    assert worst(simulated, "urgent") <= 1.0
    assert worst(simulated, "patient") <= 40
    assert simulated.held == 0
    assert not simulated.steering.hold
    read = sum(step.sources["s"].tuples for step in simulated.steps)
    for output in ("urgent", "patient"):
        assert sum(step.outputs[output].tuples for step in simulated.steps) == pytest.approx(
            read, abs=len(simulated.steps)
        )


@pytest.mark.thorough
def test_no_policy_does_worse() -> None:
    nothing = burst(None)
    assert worst(nothing, "urgent") > 3
    assert reached(nothing) < min(reached(burst("state")), reached(burst("feedback"))) - 0.1


def test_without_limits_nobody_waits() -> None:
    net = Network("n")
    s = net.source("s", {"time": "int64"})
    s.map("quick", x="1").output("a")
    s.map("slow", x="1").output("b")
    simulated = SimulatedRun(net.value, COST, {"s": lambda t: 2 * SATURATION}, controllers=[Holder(2)]).run(10)
    assert not any(record.hold for record in simulated.records)
    assert good_zone(()) == float("inf")
