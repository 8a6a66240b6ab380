"""The tactics together: each is a file and a function of one name, with pairs; none breaks what is inseparable."""

from __future__ import annotations

import doctest
import random
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial import Network
from arterial.boxes.tuples.filter import Filter
from arterial.engine.host.inprocess import InProcess
from arterial.errors import NetworkError
from arterial.moving import gpac_in
from arterial.network.box import IN
from arterial.network.network import NetworkValue
from arterial.optimize import RULES, WHILE_RUNNING, Measured, Tactic, measured, optimize
from arterial.testing import ListSink, compare, run, steps
from tests.conformance.networks import networks
from tests.conformance.tuples import arrivals
from tests.optimize.pairs import COLUMNS, Pair, drawn, parts

PAIRS = [
    (rule, pair)
    for rule in RULES
    if find_spec(f"tests.optimize.tactics.test_{rule.__name__}")
    for pair in import_module(f"tests.optimize.tactics.test_{rule.__name__}").PAIRS
]


@dataclass(frozen=True)
class Attached(Filter):
    """A filter that cannot be separated from what feeds it."""

    kind: ClassVar[str] = "test_rules.attached"
    inseparable: ClassVar[frozenset[str]] = frozenset({IN})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_one_tactic_is_one_file(rule: Tactic) -> None:
    assert rule.__module__ == f"arterial.optimize.tactics.{rule.__name__}"
    assert doctest.DocTestFinder().find(rule, globs=vars(sys.modules[rule.__module__]))[0].examples


@pytest.mark.parametrize(("rule", "pair"), PAIRS, ids=lambda part: getattr(part, "name", ""))
def test_pairs(rule: Tactic, pair: Pair) -> None:
    assert parts(rule(drawn(pair.before), pair.figures)) == parts(drawn(pair.after))


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(net=networks(), seed=st.integers(0, 2**30), share=st.sampled_from([0.1, 0.9]))
def test_outputs_stay_the_same(net: Network, seed: int, share: float) -> None:
    """Random networks; those with movable boxes are in `test_push_down`, as these give the same only in the end."""
    before = net.value
    after = optimize(before, random_figures(before, seed, share))
    tuples = {box.name: arrivals(30, seed) for box in before.boxes if not box.inputs}
    compare(after, run(before, tuples), run(after, tuples), "before and after")


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(net=networks(most=8), seed=st.integers(0, 2**30), share=st.sampled_from([0.1, 0.9]))
def test_changed_at_any_moment(net: Network, seed: int, share: float) -> None:
    """The network is changed between two trains, in any number of shards, once or twice; some trains are restarts."""
    chance = random.Random(seed)
    first = net.value
    second = optimize(first, random_figures(first, seed, share), WHILE_RUNNING)
    third = optimize(second, random_figures(second, seed + 1, share), WHILE_RUNNING)
    tuples = {box.name: arrivals(30, seed) for box in first.boxes if not box.inputs}
    expected = run(first, tuples)
    host = InProcess(first, shards=chance.choice((1, 2, 3)))
    sink = ListSink({name: [] for name in expected})
    trains = steps(first, tuples, chance.randint(2, 6), seed)
    moments = sorted(chance.sample(range(len(trains)), 2))
    for number, step in enumerate(trains):
        for moment, network in zip(moments, (second, third), strict=True):
            if number == moment:
                host.replace(network)
        for name, train in host.step(step).items():
            if name in sink.tuples:
                sink(name, train)
        if chance.random() < 0.3:
            host.restart()
    compare(first, expected, sink.tuples, f"changed before the trains {moments} of {len(trains)}")


def random_figures(network: NetworkValue, seed: int, share: float) -> dict[str, Measured]:
    chance = random.Random(seed)
    return {box.name: measured(share * chance.random(), 10 ** chance.uniform(-8, -5)) for box in network.boxes}


def attached() -> NetworkValue:
    net = Network("n")
    latest = net.source("reports", COLUMNS).latest("latest", "object")
    gpac_in(latest, "area", region=(0, 0, 5, 5)).box(Attached("trucks", "type = 'truck'")).output("o")
    return net.value


def test_what_is_inseparable_stays() -> None:
    assert optimize(attached(), {"area": measured(0.9)}) == attached()
    assert optimize(attached(), {"area": measured(0.1)}) == attached()


def test_a_tactic_that_breaks_it_is_named() -> None:
    def careless(network: NetworkValue, _: object) -> NetworkValue:
        arcs = tuple(arc for arc in network.arcs if arc.end.box != "trucks")
        first = next(arc for arc in network.arcs if arc.end.box == "area")
        moved = next(arc for arc in network.arcs if arc.end.box == "trucks")
        return NetworkValue(network.name, network.boxes, (*arcs, type(moved)(first.begin, moved.end)))

    with pytest.raises(NetworkError, match=r"tactic 'careless' must leave the arc area\.out → trucks\.in as it is"):
        optimize(attached(), {}, (careless,))
