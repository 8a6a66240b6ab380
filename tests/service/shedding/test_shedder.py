"""The shedder in a closed loop with a simulated run: overload, recovery, oscillation, values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from arterial import Delay, Network, NetworkValue, QoS, function
from arterial.figures.steering import Drop, Steering
from arterial.figures.step import BoxFigures, SourceFigures, StepFigures
from arterial.figures.window import Window
from arterial.service.load import measure
from arterial.service.shares import in_force
from arterial.service.shedding.overload import late, overload
from arterial.service.shedding.shedder import DISTRUST, STILL, Memory, Shedder, shed
from arterial.service.simulation import SimulatedRun
from arterial.service.utility import total, utilities
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join, load_of

FAN_OUT_WORK = load_of(fan_out(), FAN_OUT_COST, 1.0, {"d": 0.2}).work()
SATURATION = 2 / FAN_OUT_WORK
"""Tuples a second that two cores can just do."""


def sample() -> pl.DataFrame:
    speeds = [i % 125 for i in range(2_000)]
    return pl.DataFrame({"time": range(2_000), "vehicle": range(2_000), "speed": speeds}).with_columns(
        pl.col("time").cast(pl.Int64), pl.col("vehicle").cast(pl.Int32), pl.col("speed").cast(pl.Float64)
    )


def run(rate: Callable[[float], float], network: NetworkValue | None = None) -> SimulatedRun:
    return SimulatedRun(
        network or fan_out(),
        FAN_OUT_COST,
        {"reports": rate},
        samples={"reports": sample()},
        fixed=0.1,
        cores=2,
        controllers=[Shedder(2, 0.9)],
    )


def late_after(simulated: SimulatedRun, begin: float, end: float = math.inf) -> list[float]:
    return [
        step.born + step.seconds
        for step in simulated.steps
        if begin <= step.born < end and late(simulated.network, step)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.5, 2, 4])
def test_outputs_are_back_within_ten_seconds_and_shedding_ends_with_the_load(times: float) -> None:
    simulated = run(lambda t: SATURATION * (times if 10 <= t < 40 else 0.4)).run(60)
    assert not late_after(simulated, 0, 10)
    assert not simulated.records[0].shed
    assert late_after(simulated, 20) == []
    assert any(record.shed for record in simulated.records)
    lifted = [s.born for s, r in zip(simulated.steps, simulated.records, strict=True) if s.born > 40 and r.shed]
    assert max(lifted, default=40) < 50
    assert not simulated.steering.shed


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1.5, 2, 4])
def test_a_join_too(times: float) -> None:
    selectivity = {"some.out": 0.5, "pairs.out": 0.5, "rare.out": 0.1, "some.otherwise": 0.5, "rare.otherwise": 0.9}
    load = load_of(join(), JOIN_COST, 1.0, {"some": 0.5, "pairs": 0.5, "rare": 0.1})
    rate = lambda t: 2 / load.work() * (times if 10 <= t < 40 else 0.4)  # noqa: E731
    simulated = SimulatedRun(
        join(), JOIN_COST, {"left": rate, "right": rate}, selectivity, controllers=[Shedder(2, 0.9)]
    ).run(60)
    assert late_after(simulated, 20) == []
    assert late_after(simulated, 0, 10) == []
    assert not simulated.steering.shed


@pytest.mark.thorough
def test_an_overload_is_seen_within_two_steps_of_leaving_the_good_zone() -> None:
    simulated = run(lambda t: SATURATION * (2 if t >= 10 else 0.4)).run(20)
    first_late = next((i for i, s in enumerate(simulated.steps) if late(simulated.network, s)), len(simulated.steps))
    first_shed = next(i for i, record in enumerate(simulated.records) if record.shed)
    assert first_shed <= first_late + 2


@pytest.mark.thorough
@pytest.mark.parametrize("period", [1.0, 3.0])
def test_a_load_that_swings_around_saturation_keeps_one_plan(period: float) -> None:
    simulated = run(lambda t: SATURATION * (1 + 0.15 * math.sin(2 * math.pi * t / period))).run(60)
    plans = [record.shed for step, record in zip(simulated.steps, simulated.records, strict=True) if step.born > 10]
    changes = sum(before != after for before, after in itertools.pairwise(plans))
    assert changes <= 3
    assert late_after(simulated, 15) == []


def test_outputs_that_stay_late_under_a_plan_are_believed_more_than_the_costs() -> None:
    simulated = run(lambda t: SATURATION * 2)
    (shedder,) = (one for one in simulated.controllers if isinstance(one, Shedder))
    steering, memory = simulated.run(20).steering, shedder.memory
    assert memory.trust == 1.0

    def work(plan: Steering) -> float:
        load = measure(simulated.window, simulated.network, 2)
        assert load is not None
        return load.work(in_force(simulated.window, simulated.network, plan.shed))

    *before, one, two = simulated.window.steps
    delayed = [replace(s, outputs={n: replace(o, delay=9.0) for n, o in s.outputs.items()}) for s in (one, two)]
    still_late = Window(10, [*before, *delayed])
    soon = replace(memory, changed=two.born + two.seconds - STILL / 2)
    _, memory_soon = shed(still_late, simulated.network, steering, soon, 2, 0.9)
    assert memory_soon.trust == 1.0, "a new plan first works off what waits"
    then = replace(memory, changed=two.born + two.seconds - STILL)
    plan, doubting = shed(still_late, simulated.network, steering, then, 2, 0.9)
    assert doubting.trust == DISTRUST
    assert work(plan) < work(steering)
    _, again = shed(still_late, simulated.network, plan, doubting, 2, 0.9)
    assert again.trust == DISTRUST, "not before the new plan has had its time"
    _, calm = shed(simulated.window, simulated.network, Steering(), doubting, 2, 0.9)
    assert calm.trust == 1.0


@pytest.mark.thorough
def test_below_its_limits_a_run_is_left_alone() -> None:
    simulated = run(lambda t: SATURATION * 0.6).run(30)
    assert not any(record.shed for record in simulated.records)


def test_input_that_is_read_as_fast_as_can_be_is_no_overload() -> None:
    """Where no source says what waits, a full machine is what was asked for."""
    simulated = run(lambda t: SATURATION * 0.97, network=fan_out())
    simulated.controllers = []
    steps = simulated.run(4).steps
    assert not any(late(simulated.network, step) for step in steps)

    def seen(waiting: int | None) -> bool:
        told = [
            replace(step, sources={n: replace(f, waiting=waiting) for n, f in step.sources.items()}) for step in steps
        ]
        window = Window(10, told)
        load = measure(window, simulated.network, 2)
        assert load is not None
        return overload(window, load, 0.5).seen

    assert seen(0)
    assert not seen(None)


@pytest.mark.thorough
def test_the_most_valued_are_all_delivered() -> None:
    simulated = run(lambda t: SATURATION * (2 if t >= 5 else 0.4)).run(40)
    drop = simulated.steering.shed["metric.out → c.in"]
    assert drop.keep is not None
    assert drop.share == 0
    last, early = simulated.steps[-1], simulated.steps[0]
    best = max(early.outputs["valued"].values, key=lambda name: float(name.partition("…")[0]))
    read = [step.sources["reports"].tuples for step in (early, last)]
    counts = [step.outputs["valued"].values.get(best, 0) for step in (early, last)]
    assert counts[1] / read[1] == pytest.approx(counts[0] / read[0], rel=0.05)
    assert len(last.outputs["valued"].values) < len(early.outputs["valued"].values)


def test_it_is_better_than_to_do_nothing() -> None:
    def reached(simulated: SimulatedRun) -> float:
        steps = Window(math.inf, [step for step in simulated.steps if step.born > 15])
        histograms = {"valued": simulated.steps[0].outputs["valued"].values}
        return total(simulated.network, utilities(steps, simulated.network, histograms))

    overloaded = lambda t: SATURATION * (2 if t >= 5 else 0.4)  # noqa: E731
    nothing = run(overloaded)
    nothing.controllers = []
    assert reached(nothing.run(60)) < 0.2
    assert reached(run(overloaded).run(60)) > 0.7


@function(reads=("speed",), produces={"v": "float64"})
def kilometres(speed: pl.Series) -> pl.Series:
    return speed * 1.6


@pytest.mark.thorough
def test_where_the_value_is_not_known_upstream_a_predicate_is_found_by_trial() -> None:
    """The Map with a Python function cannot be passed backwards, and all of the work is in it."""
    net = Network("forward")
    s = net.source("reports", {"time": "int64", "vehicle": "int32", "speed": "float64"})
    s.output("all")
    valued = QoS(Delay(5, 20), value=("v", [(0, 0), (80, 0.2), (160, 1)]))
    s.map("opaque", kilometres).output("valued", qos=valued)
    simulated = SimulatedRun(
        net.value, {"opaque": 1e-4}, {"reports": lambda t: 40_000.0 if t > 5 else 5_000.0},
        samples={"reports": sample()}, controllers=[Shedder(2, 0.9)],
    ).run(60)  # fmt: skip
    drop = simulated.steering.shed["reports.out → opaque.in"]
    assert drop.keep is not None
    assert drop.keep.startswith('"speed" is null or "speed" >= ')
    steps = Window(math.inf, [step for step in simulated.steps if step.born > 40])
    values = simulated.steps[0].outputs["valued"].values
    assert utilities(steps, net.value, {"valued": values})["valued"] > 0.55, "by chance it would be 0.43"
    assert late_after(simulated, 20) == []


def test_groups_of_unlike_size_are_corrected_by_what_went() -> None:
    """Half of the groups were asked for, and they had a quarter of the tuples: the next plan asks for more."""
    value = fan_out()
    arc = "reports.out → metric.in"
    boxes = {"reports": BoxFigures({}, {"out": 1_000}, 0.1), "metric": BoxFigures({"in": 750}, {"out": 750}, 1.0)}
    sources = {"reports": SourceFigures(1_000, 0)}
    steps = [StepFigures(n, 1, float(n), 1.0, boxes, sources=sources, shed={arc: 250}) for n in range(3)]
    steering = Steering(shed={arc: Drop(0.5, by=("vehicle",))})
    _, memory = shed(Window(math.inf, steps), value, steering, Memory(), 2)
    assert memory.unlike == {arc: 0.5}
