"""Utility: the example of decision 30, what counts as due, values, and weights."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

from arterial import Delay, Network, NetworkValue, QoS
from arterial.figures.step import BoxFigures, OutputFigures, StepFigures
from arterial.figures.window import Window
from arterial.service.utility import total, utilities
from arterial.service.values import NULL, histogram, intervals, worth_of

GRAPH = ((0.0, 0.0), (10.0, 1.0))


def network(qos: QoS) -> NetworkValue:
    net = Network("n")
    s = net.source("s", {"time": "int64", "v": "float64"})
    s.filter("half", "v > 5").output("o", qos=qos)
    s.output("other", qos=QoS(weight=3))
    return net.value


def step(delivered: int, delay: float, shed: int, values: dict[str, int] | None = None) -> StepFigures:
    came = 2 * delivered
    return StepFigures(
        1, 1, 0.0, 1.0,
        boxes={
            "s": BoxFigures({}, {"out": came + shed}),
            "half": BoxFigures({"in": came}, {"out": delivered}),
            "o": BoxFigures({"in": delivered}),
            "other": BoxFigures({"in": came + shed}),
        },
        outputs={"o": OutputFigures(delivered, delay, values or {}), "other": OutputFigures(came + shed, 0.1)},
        shed={"s.out → half.in": shed} if shed else {},
    )  # fmt: skip


def test_the_example_of_the_decision() -> None:
    """Six tuples in time, two late by half; four left out before a filter that lets half through: two are due."""
    net = network(QoS(Delay(2, 10), [(0, 0), (0.8, 1), (1, 1)]))
    found = utilities(Window(math.inf, [step(6, 1.0, 4), step(2, 6.0, 0)]), net)
    assert found == {"o": pytest.approx(0.875), "other": 1.0}
    assert total(net, found) == pytest.approx((0.875 + 3) / 4)


def test_without_graphs_it_is_the_delivered_share() -> None:
    assert utilities(Window(math.inf, [step(5, 99.0, 10)]), network(QoS()))["o"] == pytest.approx(0.5)


def test_nothing_due_is_nothing_lost() -> None:
    assert utilities(Window(math.inf, [step(0, 0.0, 0)]), network(QoS(Delay(1, 2))))["o"] == 1.0


def test_what_is_left_out_by_value_counts_with_its_value() -> None:
    """Half is left out, the half that is worth little: more than half of the worth is delivered."""
    counts = histogram(pl.Series([float(v) for v in range(10)]), GRAPH)
    kept = histogram(pl.Series([5.0, 6, 7, 8, 9]), GRAPH)
    net = network(QoS(value=("v", GRAPH)))
    window = Window(math.inf, [step(5, 0.0, 10, kept)])
    assert utilities(window, net, {"o": counts})["o"] == pytest.approx(worth_of(kept, GRAPH) / worth_of(counts, GRAPH))
    assert utilities(window, net, {"o": counts})["o"] > 0.7


def test_what_a_filter_would_have_stopped_anyway_was_not_due() -> None:
    """A predicate before a Filter that lets half through leaves out three of ten, then seven."""
    net, usual = network(QoS()), Window(math.inf, [step(50, 0.0, 0)])
    for left_out, delivered, expected in ((30, 50, 1.0), (70, 30, 0.6)):
        window = Window(math.inf, [passing(100 - left_out, delivered, left_out)])
        assert utilities(window, net, usual=usual)["o"] == pytest.approx(expected)
        assert utilities(window, net)["o"] == pytest.approx(1 - left_out / 100), "nothing is known of before"


def passing(came: int, delivered: int, shed: int) -> StepFigures:
    found = step(delivered, 0.0, shed)
    return replace(found, boxes={**found.boxes, "half": BoxFigures({"in": came}, {"out": delivered})})


def test_histograms() -> None:
    names = [one.name for one in intervals(GRAPH)]
    counts = histogram(pl.Series([-1.0, 0.0, 1.25, 9.99, 10.0, math.nan, None]), GRAPH)
    assert counts == {names[0]: 1, names[1]: 1, names[2]: 1, names[8]: 1, names[9]: 2, NULL: 1}
    assert histogram(pl.Series([], dtype=pl.Int32), GRAPH) == {}
    assert [one.worth for one in intervals(GRAPH)][:3] == [0.0, 0.0625, 0.1875]
