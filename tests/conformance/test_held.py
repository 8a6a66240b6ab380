"""Arcs held at random, one or several at once: the answers are those of the interpreter, in any cut (decision 34)."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial import Network, NetworkValue, Train
from arterial.engine.host.inprocess import InProcess
from arterial.engine.steering.arcs import arcs_of
from arterial.figures.steering import Steering
from arterial.network.train import BEGIN
from arterial.reference import interpret
from arterial.testing import compare, steps
from tests.conformance.kinds import cases
from tests.conformance.networks import networks
from tests.conformance.tuples import SCHEMA, arrivals, streams

CASES = cases()
Rows = Sequence[Mapping[str, Any]]


def run_held(network: NetworkValue, given: Mapping[str, Rows], seed: int) -> dict[str, list[dict[str, Any]]]:
    """What arrives at each output while arcs are held: most of the time some of them, each with a take at random."""
    chance = random.Random(seed)
    host = InProcess(network, shards=chance.choice((1, 2, 3)))
    holdable = [name for name, arc in arcs_of(host.plan).items() if arc.no_hold is None]
    some = [name for name in holdable if chance.random() < 0.6]
    got: dict[str, list[dict[str, Any]]] = {name: [] for name in network.output_names}

    def step(trains: Mapping[str, Train], hold: Mapping[str, int]) -> None:
        for name, train in host.step(trains, Steering(hold=hold)).items():
            if name in got:
                got[name] += train.tuples.to_dicts()

    def waits() -> Collection[str]:
        return {arc for passed in host.passed for arc, waiting in passed.held.items() if waiting}

    *trains, last = steps(network, given, chance.randint(2, 8), chance.randrange(2**30))
    for train in trains:
        step(train, {arc: chance.choice((0, 0, 1, 3, 20)) for arc in some if chance.random() < 0.9})
        if chance.random() < 0.3:
            host.restart()
    nothing = {name: Train(train.tuples.clear(), BEGIN) for name, train in last.items()}
    while left := waits():
        step(nothing, {arc: chance.choice((1, 5, 30)) for arc in left})
    step(last, {})
    assert not waits()
    return got


def check_held(network: NetworkValue, given: Mapping[str, Rows], tries: int, seed: int) -> None:
    steps(network, given, trains=1)
    expected = interpret(network, given)
    for n in range(tries):
        compare(network, expected, run_held(network, given, seed + n), f"held, seed {seed + n}")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", CASES)
def test_every_box(kind: str) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=2)
    stream.late.output("late")
    CASES[kind](stream)
    check_held(net.value, {"s": arrivals(40, 3)}, tries=6, seed=1)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_networks(data: st.DataObject) -> None:
    net = data.draw(networks(SCHEMA))
    given = {box.name: data.draw(streams(SCHEMA)) for box in net.value.boxes if not box.inputs}
    check_held(net.value, given, tries=3, seed=data.draw(st.integers(0, 2**30)))
