"""What a window says of costs: odd steps are left aside, unread tuples count as arrived."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from arterial import Network, NetworkValue
from arterial.figures.step import BoxFigures, SourceFigures, StepFigures
from arterial.figures.window import Window
from arterial.service.load import measure, without_odd_steps


def network() -> NetworkValue:
    net = Network("n")
    net.source("s", {"time": "int64", "k": "int64"}).filter("f", "k > 0").output("o")
    return net.value


def step(number: int, tuples: int, seconds: float, unread: int | None = None) -> StepFigures:
    read = tuples - (unread or 0)
    boxes = {
        "s": BoxFigures({}, {"out": read}, seconds / 2),
        "f": BoxFigures({"in": read}, {"out": read}, seconds / 2),
        "o": BoxFigures({"in": read}),
    }
    shed = {"s.out → f.in": unread} if unread else {}
    sources = {"s": SourceFigures(tuples, 0, unread=unread)}
    return StepFigures(number, 1, float(number), seconds, boxes, sources=sources, shed=shed)


def test_a_first_step_that_loads_libraries_says_nothing_of_costs() -> None:
    steps = [step(0, 1_000, 7.0), *(step(number, 10_000, 0.1) for number in range(1, 6))]
    load = measure(Window(math.inf, steps), network(), 2)
    assert load is not None
    assert load.cost["f"] == pytest.approx(5e-6)
    assert len(without_odd_steps(Window(math.inf, steps[:2])).steps) == 2, "of two steps nobody knows which is odd"
    short = [*steps[1:], step(6, 1, 0.001)]
    assert without_odd_steps(Window(math.inf, short)).steps[-1].step == 6, "a short step costs more, and hardly counts"


def test_what_was_not_read_arrived_and_cost_nothing() -> None:
    steps = [step(number, 10_000, 0.1, unread=5_000) for number in range(6)]
    load = measure(Window(math.inf, steps), network(), 2)
    assert load is not None
    assert load.unread == {"s": "s.out → f.in"}
    assert load.cost["s"] == pytest.approx(1e-5)
    assert load.work() == pytest.approx(0.2)
    assert load.work({"s.out → f.in": 0.5}) == pytest.approx(0.1)


def test_long_steps_that_are_alike_are_not_taken_for_fixed_cost() -> None:
    """Two cores, but a second of a core takes 0.8 s of a step: one slot has more to do than the other."""
    window = Window(10.0)
    for number, tuples in enumerate([100, 20_000, *[400_000, 410_000, 405_000] * 5]):
        window.add(replace(step(number, tuples, 5e-6 * tuples), seconds=0.3 + 0.8 * 5e-6 * tuples))
    assert min(one.seconds for one in window.steps) > 1.5, "the short ones are not in the window"
    load = measure(window, network(), 2)
    assert load is not None
    assert load.fixed == pytest.approx(0.3, rel=0.01)
    assert load.stretch == pytest.approx(0.8, rel=0.01)


def test_a_call_of_a_box_belongs_to_the_step_and_not_to_its_tuples() -> None:
    window = Window(10.0)
    for number, tuples in enumerate([1_000, 9_000, 2_000, 5_000, 3_000, 8_000, *[10] * 40]):
        boxes = {
            "s": BoxFigures({}, {"out": tuples}, 1e-6 * tuples),
            "f": BoxFigures({"in": tuples}, {"out": tuples}, 0.008 + 5e-6 * tuples),
            "o": BoxFigures({"in": tuples}),
        }
        seconds = 0.018 + 6e-6 * tuples
        window.add(StepFigures(number, 1, 0.1 * number, seconds, boxes, sources={"s": SourceFigures(tuples, 0)}))
    load = measure(window, network(), 1)
    assert load is not None
    assert load.cost["f"] == pytest.approx(5e-6, rel=0.01), "and not two thousandths of a second"
    assert load.fixed == pytest.approx(0.018, rel=0.05)
