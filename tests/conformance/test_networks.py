"""Random networks on random streams, cut into random trains, in several shards, with restarts: both engines agree."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial.network.schema import Schema
from arterial.network.serial import from_json, to_json
from arterial.testing import check_network
from tests.conformance.networks import networks
from tests.conformance.tuples import SCHEMA, streams

TIMED = Schema.of({**{f.name: f.type.value for f in SCHEMA}, "t": "timestamp"})


def _check(data: st.DataObject, schema: Schema, tries: int = 3) -> None:
    net = data.draw(networks(schema))
    arrivals = {box.name: data.draw(streams(schema)) for box in net.value.boxes if not box.inputs}
    check_network(net, arrivals, tries=tries, seed=data.draw(st.integers(0, 2**30)))
    assert from_json(to_json(net.value)) == net.value


@pytest.mark.thorough
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_networks(data: st.DataObject) -> None:
    _check(data, SCHEMA)


@pytest.mark.thorough
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_networks_on_timestamps(data: st.DataObject) -> None:
    _check(data, TIMED)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_random_networks(data: st.DataObject) -> None:
    _check(data, SCHEMA)
