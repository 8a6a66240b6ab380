"""State for another number of shards: a run that changes it in the middle gives what a calm one gives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial import Network
from arterial.engine.host.inprocess import InProcess
from arterial.engine.state.regroup import Rule, regroup
from arterial.errors import RunError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.network import NetworkValue
from arterial.network.state import State
from arterial.network.train import Train
from arterial.testing import ListSink, Tuples, compare, run, steps
from tests.conformance.kinds import cases
from tests.conformance.networks import networks
from tests.conformance.tuples import SCHEMA, arrivals, streams

CASES = cases()
IN_A_FORM_OF_THEIR_OWN = {"moving_queries"}
"""The boxes that keep state by shard which cannot be regrouped."""


@dataclass(frozen=True)
class Remembers(Box):
    """A box of a user's own, which says nothing about its state."""

    kind: ClassVar[str] = "test_regroup.remembers"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        state.put("all", "", trains[IN].tuples)
        return {OUT: trains[IN]}


def check(network: NetworkValue, tuples: Mapping[str, Tuples], seed: int, trains: int = 5) -> None:
    """Raise unless a run whose shards change from train to train gives what one in one shard gives."""
    chance, sink = random.Random(seed), ListSink({box.name: [] for box in network.boxes if not box.outputs})
    host, said = InProcess(network, shards=2), []
    for step in steps(network, tuples, trains, seed):
        for name, train in host.step(step).items():
            if name in sink.tuples:
                sink(name, train)
        said.append(chance.randint(1, 4))
        host.rescale(said[-1])
    compare(network, run(network, tuples), sink.tuples, f"shards 2, {said}, seed {seed}")


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    ("length", "seed"),
    [
        pytest.param(16, 3, marks=pytest.mark.thorough),
        pytest.param(150, 5, marks=pytest.mark.slow),
    ],
)
def test_every_box(kind: str, length: int, seed: int) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=3)
    stream.late.output("late")
    CASES[kind](stream)
    if kind in IN_A_FORM_OF_THEIR_OWN:
        with pytest.raises(RunError, match="a form of its own"):
            check(net.value, {"s": arrivals(length, seed)}, seed)
    else:
        check(net.value, {"s": arrivals(length, seed)}, seed)


@pytest.mark.thorough
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_networks(data: Any) -> None:
    net = data.draw(networks(SCHEMA))
    tuples = {box.name: data.draw(streams(SCHEMA)) for box in net.value.boxes if not box.inputs}
    check(net.value, tuples, data.draw(st.integers(0, 2**30)), trains=4)


def test_numbers_within_a_shard_stay_apart() -> None:
    rule = Rule("wait", ("k",), numbered={"waiting": "@serial", "serial": "next"})
    before = [
        {
            ("waiting", "000000000000.3"): pl.DataFrame({"k": [slot, slot + 4, slot], "@serial": [0, 1, 2]}),
            ("serial", ""): {"next": np.array([3 + slot])},
        }
        for slot in range(2)
    ]
    (after,) = regroup(rule, before, 1)
    rows = after["waiting", "000000000000.6"]
    assert isinstance(rows, pl.DataFrame)
    assert rows["@serial"].n_unique() == rows.height == 6
    assert all(part["@serial"].is_sorted() for part in rows.partition_by("k"))
    assert after["serial", ""]["next"][0] > rows["@serial"].max()


def test_a_box_that_does_not_say_so_is_refused() -> None:
    net = Network("own")
    net.source("s", SCHEMA, "t").group_by("k").box(Remembers("mine")).output("out")
    host = InProcess(net.value, shards=2)
    host.rescale(3)  # it keeps nothing yet
    for step in steps(net.value, {"s": arrivals(12, 1)}, 1):
        host.step(step)
    with pytest.raises(RunError, match=r"box 'mine'.*a form of its own"):
        host.rescale(2)
