"""The greedy choice: against the best plan of all, and against dropping everywhere alike."""

from __future__ import annotations

import pytest

from arterial import Network, QoS
from arterial.service.load import Load
from arterial.service.shedding.greedy import Choices, Plan, choose
from arterial.service.shedding.optimum import optimum, uniform
from arterial.service.shedding.points import drop_points
from arterial.service.values import intervals
from tests.service.networks import FAN_OUT_COST, FLAT, JOIN_COST, fan_out, join, load_of

VALUES = {one.name: 10 for one in intervals(((0.0, 0.0), (80.0, 0.2), (160.0, 1.0)))[1:]}


def of_fan_out(values: bool = True) -> Choices:
    load = load_of(fan_out(), FAN_OUT_COST, 10_000, {"d": 0.2})
    return Choices.of(load, {"valued": VALUES} if values else None)


def of_join() -> Choices:
    return Choices.of(load_of(join(), JOIN_COST, 10_000, {"some": 0.5, "pairs": 0.5, "rare": 0.1}))


def test_drop_points_are_split_points() -> None:
    points = {str(point.arc): set(point.outputs) for point in drop_points(fan_out())}
    assert points == {
        "reports.out → metric.in": {"strict", "tolerant", "valued", "heavy"},
        "metric.out → a.in": {"strict"},
        "metric.out → b.in": {"tolerant"},
        "metric.out → c.in": {"valued"},
        "metric.out → d.in": {"heavy"},
    }


@pytest.mark.parametrize("load", [1.5, *(pytest.param(one, marks=pytest.mark.thorough) for one in (1.2, 2, 3, 4))])
@pytest.mark.parametrize(
    "choices", [of_fan_out(), of_fan_out(values=False), of_join()], ids=["values", "chance", "join"]
)
def test_near_the_optimum_and_above_uniform(choices: Choices, load: float) -> None:
    capacity = choices.work(Plan()) / load
    plan = choose(choices, capacity)
    best, alike = (choices.utility(p) for p in (optimum(choices, capacity), uniform(choices, capacity)))
    assert choices.work(plan) <= capacity * 1.0001
    assert choices.utility(plan) >= 0.95 * best
    assert choices.utility(plan) > alike


def test_what_may_not_be_thinned_is_left_alone() -> None:
    net = Network("n")
    s = net.source("s", {"time": "int64", "k": "int32"})
    s.filter("f", "k > 0").output("o", qos=QoS(share=FLAT))
    assert {str(p.arc) for p in drop_points(net.value)} == {"s.out → f.in"}


def test_with_room_nothing_is_left_out() -> None:
    choices = of_fan_out()
    assert choose(choices, 10 * choices.work(Plan())) == Plan()


def test_what_costs_nothing_goes_first() -> None:
    choices = of_fan_out(values=False)
    plan = choose(choices, choices.work(Plan()) - 0.1)
    assert {point.name for point in plan.out} == {"metric.out → b.in"}
    assert choices.utility(plan) == 1.0


def test_an_output_that_is_lost_anyway_is_given_up() -> None:
    """Below half of its tuples the output is worth nothing: then none of them need to come."""
    net = Network("n")
    s = net.source("s", {"time": "int64"})
    s.map("a", x="1").output("all_or_nothing", qos=QoS(share=[(0.9, 0), (1, 1)]))
    s.map("b", x="1").output("other", qos=QoS(weight=2))
    load = load_of(net.value, {"a": 1e-4, "b": 1e-4}, 10_000)
    choices = Choices.of(load)
    plan = choose(choices, 1.0)
    assert plan.kept.get("s.out → b.in", 1.0) > 0.9
    assert choices.utility(plan) >= 0.95 * choices.utility(optimum(choices, 1.0))


def test_the_most_valued_stay() -> None:
    choices = of_fan_out()
    plan = choose(choices, choices.work(Plan()) / 2)
    by_value = {point: out for point, out in plan.out.items() if point.by_value}
    drop = choices.drops(plan)["metric.out → c.in"]
    assert by_value
    assert drop.keep is not None
    assert drop.keep == "kmh is null or (not (kmh >= 0.0 and kmh < 100.0))"


def test_a_plan_never_needs_a_share_beyond_the_most() -> None:
    choices = of_join()
    plan = choose(choices, 1e-9)
    assert max(plan.out.values()) <= 0.98


def test_a_load_knows_the_delay() -> None:
    load = Load(fan_out(), {}, {}, fixed=0.1)
    assert load.delay(0.5) == pytest.approx(0.4)
    assert load.bearable(0.4) == pytest.approx(0.5)
