"""Moving queries on systems that are asked again every second: what they answer is what brute force finds."""

from __future__ import annotations

import pytest
from benchmarks.bench_moving import OBJECTS
from benchmarks.bench_moving_peers import compare, installed

from arterial.moving.traffic import Traffic, TrafficSettings


@pytest.mark.slow
def test_the_peers_that_are_here_answer_as_brute_force_does() -> None:
    peers = installed()
    if not peers:
        pytest.skip("neither PostGIS nor Redis is installed here (see peers/moving/README.md)")
    traffic = Traffic(TrafficSettings(objects=OBJECTS, leaving=0.0))
    took = compare(100, [traffic.step() for _ in range(3)], peers)
    assert took.keys() == {"Arterial", "a fresh index", *peers}
