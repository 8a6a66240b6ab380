"""Overflow in a closed loop with a simulated run: branches that cannot be settled are held, and worked off later."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from arterial import Delay, Network, NetworkValue, QoS
from arterial.figures.steering import Steering
from arterial.figures.window import Window
from arterial.network.network import Arc
from arterial.service.holding.branches import branches_held, branches_of
from arterial.service.holding.holder import Holder, Policy
from arterial.service.load import measure
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.greedy import Choices, choose
from arterial.service.shedding.overload import late
from arterial.service.shedding.shedder import Memory, Shedder, shed
from arterial.service.simulation import Controller, SimulatedRun
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join, load_of

INTO_JOIN = ("l.out → some.in", "r.out → by_k_2.in")
SELECTIVITY = {"some.out": 0.5, "pairs.out": 0.5, "rare.out": 0.1, "some.otherwise": 0.5, "rare.otherwise": 0.9}
JOIN_SATURATION = 2 / load_of(join(), JOIN_COST, 1.0, {"some": 0.5, "pairs": 0.5, "rare": 0.1}).work()
HOLDABLE = frozenset(str(arc) for arc in join().arcs if arc.begin.box not in ("left", "right"))


def run(
    rate: Callable[[float], float], policy: Policy | None = None, *, trains: bool = True, fixed: float = 0.1
) -> SimulatedRun:
    scheduler = [Scheduler(2, 500_000, overflow=True)] if trains else []
    controllers: list[Controller] = [
        Shedder(2, 0.9, overflow=True, holdable=HOLDABLE),
        *scheduler,
        Holder(2, policy, HOLDABLE, overflow=True, headroom=0.9),
    ]
    sources = {"left": lambda t: JOIN_SATURATION * rate(t), "right": lambda t: JOIN_SATURATION * rate(t)}
    return SimulatedRun(join(), JOIN_COST, sources, SELECTIVITY, fixed=fixed, controllers=controllers)


def late_but(simulated: SimulatedRun, output: str) -> list[float]:
    return [step.born for step in simulated.steps if set(late(simulated.network, step)) - {output}]


def held(simulated: SimulatedRun) -> list[tuple[str, ...]]:
    """The arcs that were held, each time that they changed."""
    return [arcs for arcs, _ in itertools.groupby(tuple(sorted(record.hold)) for record in simulated.records)]


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.3, 2, 3])
@pytest.mark.parametrize("fixed", [0.005, 0.1])
def test_a_join_waits_and_the_others_are_in_time(times: float, fixed: float) -> None:
    simulated = run(lambda t: times if 10 <= t < 25 else 0.4, fixed=fixed).run(120)
    assert not [at for at in late_but(simulated, "joined") if not 10 <= at < 13]
    assert held(simulated) == [(), INTO_JOIN, ()], "once, and both sides of the join together"
    assert not any(record.shed for record in simulated.records)
    assert simulated.held == 0
    read = sum(step.sources["left"].tuples for step in simulated.steps)
    joined = sum(step.outputs["joined"].tuples for step in simulated.steps)
    assert joined == pytest.approx(0.75 * read, rel=0.01), "all answers came"
    last_step = max(step.born for step in simulated.steps if late(simulated.network, step))
    assert last_step < 110


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["state", "feedback"])
def test_who_waits_by_priority_and_what_overflows_do_not_fight(policy: Policy) -> None:
    simulated = run(lambda t: 2 if 10 <= t < 25 else 0.4, policy).run(120)
    assert not [at for at in late_but(simulated, "joined") if not 10 <= at < 13]
    assert simulated.held == 0
    assert not simulated.steering.hold


@pytest.mark.thorough
@pytest.mark.parametrize("period", [1.0, 3.0])
def test_a_load_that_swings_around_saturation_does_not_flap(period: float) -> None:
    simulated = run(lambda t: 1 + 0.15 * math.sin(2 * math.pi * t / period)).run(60)
    assert held(simulated) == [(), INTO_JOIN]
    assert not [at for at in late_but(simulated, "joined") if at > 15]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_a_machine_that_is_not_always_as_fast(seed: int) -> None:
    uneven = np.random.default_rng(seed).choice([0.8, 1.0, 1.1, 1.3], size=2000)
    simulated = run(lambda t: 2 if 10 <= t < 25 else 0.4)
    simulated.dearness = lambda step: float(uneven[step])
    simulated.run(140)
    assert not [at for at in late_but(simulated, "joined") if not 10 <= at < 14]
    assert simulated.held == 0


@pytest.mark.thorough
def test_a_queue_is_worked_off_while_nothing_comes() -> None:
    simulated = run(lambda t: 2.0 if 10 <= t < 25 else 0.4 if t < 30 else 0.0).run(100)
    assert simulated.held == 0
    assert max(step.seconds for step in simulated.steps if step.born > 30) < 1.0


def windows(patient: float = 10, light: float = 1.0) -> NetworkValue:
    """Two windows over the same tuples, and an output of the tuples themselves."""
    net = Network("windows")
    s = net.source("s", {"time": "int64", "k": "int32"})
    s.output("raw", qos=Delay(2, 10))
    s.group_by("k").tumble("heavy", size=10, n="count(*)").output("weighty", qos=QoS(Delay(5, patient), weight=3))
    s.group_by("k").tumble("other", size=10, n="count(*)").output("light", qos=QoS(Delay(5, 10), weight=light))
    return net.value


COST = {"s": 1e-6, "heavy": 20e-6, "other": 20e-6}


def chosen(network: NetworkValue, capacity: float, late_already: frozenset[str] = frozenset()) -> set[str]:
    load = load_of(network, COST, 1000.0)
    choices = Choices.of(load, settled=True).or_held(None, late_already)
    plan = choose(choices, load.work() * capacity)
    return {name for arc in network.arcs if str(arc) in plan.held for name in reached(network, arc)}


def reached(network: NetworkValue, arc: Arc) -> set[str]:
    return {output.name for branch in branches_held(network, [str(arc)]) for output in branch.outputs}


def test_the_output_that_weighs_least_is_held_first() -> None:
    assert chosen(windows(), 1.0) == set()
    assert chosen(windows(), 0.8) == {"light"}
    assert chosen(windows(light=9), 0.8) == {"weighty"}
    assert chosen(windows(), 0.1) == {"light", "weighty"}


def test_a_branch_that_is_late_already_stays_held() -> None:
    assert chosen(windows(), 0.8, frozenset({"weighty"})) == {"weighty"}
    assert chosen(windows(light=0.1), 0.8, frozenset({"weighty"})) == {"light"}, "unless another loses far less"


def test_an_output_that_may_be_late_loses_nothing() -> None:
    net = Network("patient")
    s = net.source("s", {"time": "int64", "k": "int32"})
    s.group_by("k").tumble("heavy", size=10, n="count(*)").output("any time", qos=QoS(weight=9))
    s.group_by("k").tumble("other", size=10, n="count(*)").output("in time", qos=Delay(5, 10))
    assert chosen(net.value, 0.8) == {"any time"}


def test_what_can_be_settled_is_left_out_and_not_held() -> None:
    load = load_of(fan_out(), FAN_OUT_COST, 1000.0)
    plan = choose(Choices.of(load, settled=True).or_held(None, frozenset()), load.work() / 2)
    assert plan.out
    assert not plan.held


def test_branches_begin_where_they_can_be_held() -> None:
    found = {tuple(output.name for output in branch.outputs): branch for branch in branches_of(join(), HOLDABLE)}
    assert found["joined",].names == INTO_JOIN
    assert found["joined",].boxes == {"some", "by_k", "by_k_2", "pairs", "joined"}
    behind = frozenset({"by_k.out → pairs.left", "by_k_2.out → pairs.right", "pairs.out → joined.in"})
    (only,) = branches_of(join(), behind)
    assert only.names == ("by_k.out → pairs.left", "by_k_2.out → pairs.right"), "what is behind both needs no hold"
    one, other = branches_held(join(), [*INTO_JOIN, "r.out → rare.in"])
    assert {one.names, other.names} == {INTO_JOIN, ("r.out → rare.in",)}


@pytest.mark.thorough
def test_after_a_restart_what_waits_is_still_held() -> None:
    """A new shedder knows nothing but the record; the queue is worked off as before, not let go at once."""
    simulated = run(lambda t: 2 if 10 <= t < 25 else 0.4).run(30)
    assert simulated.held > 0
    steering, memory = shed(
        simulated.window, simulated.network, simulated.steering, Memory(), 2, 0.9, overflow=True, holdable=HOLDABLE
    )
    assert steering.hold == simulated.steering.hold
    assert memory.emptied or memory.held == frozenset(INTO_JOIN)


def test_the_work_behind_a_queue_is_measured_by_what_leaves_it() -> None:
    simulated = run(lambda t: 2 if t >= 2 else 0.4, trains=False).run(30)
    load = measure(Window(math.inf, list(simulated.steps)[-5:]), simulated.network, 2)
    assert load is not None
    true = load_of(join(), JOIN_COST, 2 * JOIN_SATURATION, {"some": 0.5, "pairs": 0.5, "rare": 0.1})
    assert load.work() == pytest.approx(true.work(), rel=0.05)


def test_without_overflow_nothing_is_held() -> None:
    shedder = Shedder(2, 0.9)
    simulated = run(lambda t: 2.0)
    simulated.controllers = [shedder]
    simulated.steering = Steering(hold={INTO_JOIN[0]: 5})
    simulated.run(10)
    assert all(record.hold == {INTO_JOIN[0]: 5} for record in simulated.records)
