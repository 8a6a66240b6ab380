"""GPAC-IN at the bottom, in the middle and on top of a plan: the same answer at every instant (GPAC §5)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial.drawing import Network
from arterial.testing import check_network, run, standing
from tests.conformance.plans import Plan, plans, world


def check_plan(plan: Plan, seed: int) -> None:
    """Raise unless the answer is the same wherever GPAC-IN stands, and as the interpreter has it."""
    arrivals = world(seed)
    answers = []
    for place in plan.places:
        net = plan.drawn(place)
        stream = net.value.box("answer").fed_by["in"]
        told = run(net, arrivals, trains=1 + (seed + place) % 7, seed=seed, restarts=place % 2 == 0)
        answers.append(standing(told["answer"], stream))
        assert answers[-1] == answers[0], place
    place = plan.places[seed % len(plan.places)]
    check_network(plan.drawn(place), arrivals, tries=2, seed=seed)


def gpac_never_repeats(plan: Plan, seed: int) -> None:
    """Raise if a row joins the answer of GPAC-IN on the reports that is in it, or leaves that is not."""
    net = Network.of(plan.drawn(-1).value)
    net.stream("gpac").output("gpac answer")
    told = run(net, world(seed), trains=3, seed=seed)["gpac answer"]
    for _, rows in standing(told, net.value.box("gpac answer").fed_by["in"]):
        assert set(rows.values()) <= {1}
        objects = [dict(row)["object"] for row in rows]
        assert len(objects) == len(set(objects))


@pytest.mark.thorough
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans(moves=False), seed=st.integers(0, 2**30))
def test_where_it_stands_does_not_matter(plan: Plan, seed: int) -> None:
    check_plan(plan, seed)
    gpac_never_repeats(plan, seed)


@pytest.mark.thorough
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans(moves=True), seed=st.integers(0, 2**30))
def test_with_all_moves_told_positions_can_be_read_too(plan: Plan, seed: int) -> None:
    check_plan(plan, seed)
    gpac_never_repeats(plan, seed)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_plans(data: st.DataObject) -> None:
    check_plan(data.draw(plans(moves=data.draw(st.booleans()))), data.draw(st.integers(0, 2**30)))
