"""The graphs of Linear Road's outputs, and what is left out first under overload."""

from __future__ import annotations

import pytest

from arterial.boxes.ends.output import Output
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.profiles import PROFILES
from arterial.network.network import NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.load import Load
from arterial.service.shedding.greedy import Choices, Plan, choose
from arterial.service.shedding.optimum import uniform
from arterial.service.utility import outputs_of

LIMITS = {
    "spec": {"notices": 5, "alerts": 5, "balances": 5, "expenditures": 10, "travels": 30},
    "walmart": {"notices": 5, "alerts": 5, "balances": 5, "expenditures": 5, "travels": 30},
    "thesis2003": {"notices": 15, "alerts": 15, "balances": 60, "expenditures": 90, "travels": 120},
}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_output_has_the_limit_of_its_profile(profile: str) -> None:
    network = linear_road_network(PROFILES[profile], History())
    assert {output.name: good_zone(output.delay) for output in outputs_of(network)} == LIMITS[profile]
    assert all(isinstance(output, Output) and output.weight >= 1 for output in outputs_of(network))


def loaded(network: NetworkValue) -> Load:
    """Every box costs the same, outputs nothing; one tuple in eleven is a request."""
    rates: dict[Port, float] = {}
    for box in network.order:
        for port in box.outputs:
            comes = sum(rates[begin] for begin in network.arrivals(box).values())
            rates[Port(box.name, port)] = comes if box.inputs else {"reports": 10_000.0, "requests": 1_000.0}[box.name]
    return Load(network, {box.name: 1e-5 for box in network.boxes if box.outputs}, rates)


def test_travel_times_are_left_out_before_toll_notices() -> None:
    network = linear_road_network(PROFILES["spec"], History())
    choices = Choices.of(loaded(network))
    plan = choose(choices, 0.99 * choices.work(Plan()))
    missing = {output for point in plan.out for output in point.outputs}
    assert missing
    assert not missing & {"notices", "alerts", "balances"}


@pytest.mark.parametrize("times", [1.5, 2, 4])
def test_where_that_is_not_enough_whole_roads_are_left_out(times: float) -> None:
    network = linear_road_network(PROFILES["spec"], History())
    choices = Choices.of(loaded(network))
    capacity = choices.work(Plan()) / times
    plan = choose(choices, capacity)
    assert choices.work(plan) <= capacity
    assert choices.utility(plan) > choices.utility(uniform(choices, capacity))
    drops = choices.drops(plan)
    assert drops["requests.out → travel_requests.in"].share > 0.85
    roads = drops["reports.out → by_xway_dir.in"]
    assert roads.by == ("xway", "dir")
    assert 0.3 < roads.share < 0.9


def test_an_answer_that_needs_all_of_a_road_misses_it_once() -> None:
    network = linear_road_network(PROFILES["spec"], History())
    shares = loaded(network).delivered({"reports.out → by_xway_dir.in": 0.5})
    assert shares == {"notices": 0.5, "alerts": 0.5, "balances": 0.5, "expenditures": 1.0, "travels": 1.0}
