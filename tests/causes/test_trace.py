"""Causes are exact: leaving out a tuple that is needed changes the row, leaving out any other does not."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial import Network
from arterial.boxes.ends.source import Source
from arterial.causes.trace import Trace, scopes, upstream
from arterial.causes.why import explain, region_of
from arterial.network.box import Box, is_from_library
from arterial.network.network import NetworkValue, Port
from arterial.reference import interpret
from arterial.reference.parts.module import module_of
from arterial.reference.parts.stream import Tuples, group_of
from tests.conformance.kinds import cases
from tests.conformance.networks import networks
from tests.conformance.tuples import SCHEMA, arrivals, streams

CASES = cases()


def came_in(network: NetworkValue, given: dict[str, Tuples]) -> dict[Port, Tuples]:
    """What leaves the sources: in order, and late."""
    results = interpret(network, given)
    names = [(box.name, port) for box in network.boxes if not box.inputs for port in box.outputs]
    return {Port(*name): [dict(values) for values in results[".".join(name)]] for name in names}


def check_rows(network: NetworkValue, given: dict[str, Tuples], most: int = 3) -> None:
    """Of some rows of each output: what is needed, in scope, is what is needed of all that came."""
    came = came_in(network, given)
    for output in [box.name for box in network.boxes if not box.outputs]:
        path = upstream(network, output)
        everything = Trace(path, output, came)
        rows = everything.rows
        for row in rows[:: max(1, len(rows) // most)]:
            regions = scopes(path, output, region_of(row, path.box(output).fed_by["in"]))
            inside = {
                port: [one for one in some if regions[port].has(one, network.streams[port].time)]
                for port, some in came.items()
                if port in regions
            }
            said = explain(Trace(path, output, inside), row, seconds=60)
            assert said.tried == said.in_scope
            expected = everything.needed(row, everything.sources(), 60)
            needed = Counter(
                _key(port.box, everything.streams[port][at]) for (port, at), is_it in expected.items() if is_it
            )
            assert Counter(_key(one.source, one.values) for one in said.causes) == needed
            assert str(said).startswith(output)


def _key(source: str, values: Any) -> Any:
    return source, group_of(values, tuple(values))


def test_every_box_of_the_library_says_its_causes() -> None:
    own = [kind for kind in Box.kinds.values() if is_from_library(kind) and kind is not Source]
    assert len(own) > 25
    for kind in own:
        module = import_module(module_of(kind))
        assert module.because
        assert module.scope


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_of_box(kind: str) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=2)
    stream.late.output("late")
    CASES[kind](stream)
    check_rows(net.value, {"s": arrivals(12, 2)})


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_networks(data: st.DataObject) -> None:
    net = data.draw(networks())
    given = {box.name: data.draw(streams(longest=14)) for box in net.value.boxes if not box.inputs}
    check_rows(net.value, given, most=2)
