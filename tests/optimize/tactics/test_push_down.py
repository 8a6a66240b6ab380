"""push_down: where it moves boxes, where it must not, and that answers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.moving import gpac_in, gpac_knn
from arterial.network.network import NetworkValue, Port
from arterial.optimize import Measured, measured
from arterial.optimize.tactics.push_down import push_down
from arterial.testing import run, standing, steps
from tests.conformance.plans import FAVOURITES, REPORTS, Plan, plans, world
from tests.optimize.pairs import Pair

AREA: dict[str, Any] = {"region": (-5, -5, 5, 5)}
AROUND: dict[str, Any] = {"focal": 2, "length": 9, "width": 9}


def order(network: NetworkValue) -> list[str]:
    """The boxes on the way of the reports, from the source to the answer."""
    port = Port("reports", "out")
    names: list[str] = []
    while True:
        ends = sorted(end for end in network.departures(port) if end.port != "focals")
        if not ends:
            return names
        names.append(ends[0].box)
        box = network.box(ends[0].box)
        if not box.outputs:
            return names
        port = Port(box.name, box.outputs[0])


def moved(draw: Callable[[StreamHandle], StreamHandle], share: float) -> list[str]:
    net = Network("n")
    draw(net.source("reports", REPORTS)).output("answer")
    return order(push_down(net.value, {"gpac": measured(share)}))


def filter_first(s: StreamHandle) -> StreamHandle:
    return gpac_in(s.latest("latest", "object").filter("trucks", "type = 'truck'"), "gpac", **AREA)


def area_first(s: StreamHandle) -> StreamHandle:
    return gpac_in(s.latest("latest", "object"), "gpac", **AREA).filter("trucks", "type = 'truck'")


def around_first(s: StreamHandle) -> StreamHandle:
    latest = s.latest("latest", "object")
    return gpac_in(latest, "gpac", **AROUND).filter("trucks", "type = 'truck'")


def around_trucks(s: StreamHandle) -> StreamHandle:
    latest = s.latest("latest", "object")
    return gpac_in(latest.filter("trucks", "type = 'truck'"), "gpac", **AROUND, focals=latest)


def around_trucks_below(s: StreamHandle) -> StreamHandle:
    latest = s.latest("latest", "object")
    return gpac_in(latest, "gpac", **AROUND, focals=latest).filter("trucks", "type = 'truck'")


def answer(draw: Callable[[StreamHandle], StreamHandle]) -> Callable[[StreamHandle], StreamHandle]:
    return lambda s: draw(s).output("answer")


PAIRS = [
    Pair("rare: down", answer(filter_first), answer(area_first), {"gpac": measured(0.1)}),
    Pair("rare: stays down", answer(area_first), answer(area_first), {"gpac": measured(0.1)}),
    Pair("frequent: up", answer(area_first), answer(filter_first), {"gpac": measured(0.5)}),
    Pair("frequent: stays up", answer(filter_first), answer(filter_first), {"gpac": measured(0.5)}),
    Pair("unknown: stays", answer(filter_first), answer(filter_first), {"gpac": Measured()}),
    Pair("up, with what it follows", answer(around_first), answer(around_trucks), {"gpac": measured(0.5)}),
    Pair("down, with what it follows", answer(around_trucks), answer(around_trucks_below), {"gpac": measured(0.1)}),
]


def test_without_a_selectivity_it_stays() -> None:
    net = Network("n")
    filter_first(net.source("reports", REPORTS)).output("answer")
    assert push_down(net.value, {"gpac": Measured()}) == push_down(net.value, {}) == net.value


def test_on_reports_only_attributes_that_never_change_are_passed() -> None:
    def draw(text: str, fixed: Sequence[str]) -> Callable[[StreamHandle], StreamHandle]:
        return lambda s: gpac_in(s.filter("some", text), "gpac", **AREA, fixed=fixed, timeout=9)

    assert moved(draw("type = 'truck'", ["type"]), 0.1) == ["gpac", "some", "answer"]
    assert moved(draw("object > 7", []), 0.1) == ["gpac", "some", "answer"]
    assert moved(draw("type = 'truck' and speed > 3", ["type"]), 0.1) == ["some", "gpac", "answer"]
    assert moved(draw("time > 3", ["type"]), 0.1) == ["some", "gpac", "answer"]


def test_several_filters() -> None:
    def draw(s: StreamHandle) -> StreamHandle:
        stream = s.latest("latest", "object").filter("a", "speed > 3").filter("b", "x > 3").filter("c", "speed < 90")
        return gpac_in(stream, "gpac", **AREA)

    assert moved(draw, 0.1) == ["latest", "a", "b", "gpac", "c", "answer"]
    assert moved(lambda s: gpac_in(draw(s), "second", **AREA), 0.1)[-2:] == ["second", "answer"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: gpac_in(s.latest("l", "object").filter("f", "x > 3"), "gpac", **AREA),
        lambda s: gpac_in(s.latest("l", "object").filter("f", "speed > 3"), "gpac", **AROUND),
        lambda s: gpac_in(s.latest("l", "object").filter("f", "speed > 3").otherwise, "gpac", **AREA),
        lambda s: gpac_in(s.latest("l", "object").filter("f", "speed > 3"), "gpac", **AREA, cache=50),
        lambda s: gpac_knn(s.latest("l", "object").filter("f", "speed > 3"), "gpac", k=2, at=(0, 0)),
        lambda s: gpac_in(s.latest("l", "object").map("f", speed="speed + 1"), "gpac", **AREA),
    ],
)
def test_what_it_must_not_pass(draw: Callable[[StreamHandle], StreamHandle]) -> None:
    net = Network("n")
    draw(net.source("reports", REPORTS)).output("answer")
    assert push_down(net.value, {"gpac": measured(0.01)}) == net.value


def test_a_filter_that_others_read_stays_where_it_is() -> None:
    net = Network("n")
    some = net.source("reports", REPORTS).latest("l", "object").filter("f", "speed > 3")
    gpac_in(some, "gpac", **AREA).output("answer")
    some.output("others")
    assert push_down(net.value, {"gpac": measured(0.01)}) == net.value


def test_a_focal_object_is_seen_below_the_filter() -> None:
    def draw(s: StreamHandle) -> StreamHandle:
        return gpac_in(s.latest("latest", "object"), "gpac", **AROUND).filter("trucks", "type = 'truck'")

    net = Network("n")
    draw(net.source("reports", REPORTS)).output("answer")
    up = push_down(net.value, {"gpac": measured(0.9)})
    assert order(up) == ["latest", "trucks", "gpac", "answer"]
    assert order(push_down(up, {"gpac": measured(0.1)})) == ["latest", "gpac", "trucks", "answer"]
    same_answers(net.value, up, 5)


def test_below_a_match_if_positions_do_not_matter_above() -> None:
    def draw(s: StreamHandle, **options: Any) -> StreamHandle:
        others = s.network.source("favourites", FAVOURITES, signed=True)
        return gpac_in(
            s.latest("latest", "object").match("pairs", others, on="left.object = right.object"), "gpac", **options
        )

    names = ["time", "object", "owner"]
    assert moved(lambda s: draw(s, **AREA), 0.1)[-3:] == ["pairs", "gpac", "answer"]
    assert moved(lambda s: draw(s, **AREA, moves=True), 0.1)[-3:] == ["gpac", "pairs", "answer"]
    assert moved(lambda s: draw(s, **AREA).map("few", keep=names), 0.1)[-4:] == ["gpac", "pairs", "few", "answer"]
    made = moved(lambda s: draw(s, **AREA).filter("some", "speed > 3").map("few", keep=names), 0.1)
    assert made[-5:] == ["gpac", "pairs", "some", "few", "answer"]


def same_answers(one: NetworkValue, other: NetworkValue, seed: int) -> None:
    """Raise unless both stand for the same at every instant."""
    stream = one.box("answer").fed_by["in"]
    arrivals = {name: tuples for name, tuples in world(seed).items() if any(box.name == name for box in one.boxes)}
    told = [run(network, arrivals, trains=1 + seed % 5, seed=seed)["answer"] for network in (one, other)]
    assert standing(told[0], stream) == standing(told[1], other.box("answer").fed_by["in"])


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(moves=st.booleans(), share=st.sampled_from([0.01, 0.9]), seed=st.integers(0, 2**30), data=st.data())
def test_answers_stay_the_same(moves: bool, share: float, seed: int, data: st.DataObject) -> None:
    plan: Plan = data.draw(plans(moves=moves))
    network = plan.drawn(data.draw(st.sampled_from(plan.places))).value
    same_answers(network, push_down(network, {"gpac": measured(share)}), seed)


def test_with_selectivities_that_were_measured() -> None:
    net = Network("n")
    filter_first(net.source("reports", REPORTS)).output("answer")
    host = InProcess(net.value)
    for step in steps(net.value, {"reports": world(1, 300)["reports"]}, 4):
        host.step(step)
    counts = host.counts["gpac"]
    share = counts.tuples_out["out"] / counts.tuples_in["in"]
    pushed = push_down(net.value, {"gpac": measured(share)})
    assert order(pushed)[1] == ("gpac" if share < 1 / 3 else "trucks")
    same_answers(net.value, pushed, 1)
