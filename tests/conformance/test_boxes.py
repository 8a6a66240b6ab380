"""Every box on both engines from the same cases: short and long streams, many trains, shards, restarts."""

from __future__ import annotations

import pytest

from arterial import Network
from arterial.testing import check_network
from tests.conformance.kinds import cases
from tests.conformance.tuples import SCHEMA, arrivals

CASES = cases()


@pytest.mark.parametrize(
    ("length", "seed", "tries"),
    [
        *((0, 0, 5), (12, 2, 5)),
        pytest.param(1, 1, 5, marks=pytest.mark.thorough),
        pytest.param(40, 3, 5, marks=pytest.mark.slow),
        pytest.param(150, 4, 3, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("kind", CASES)
def test_both_engines_agree(kind: str, length: int, seed: int, tries: int) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=seed)
    stream.late.output("late")
    CASES[kind](stream)
    trains = max(2, min(length // 3, 20))
    check_network(net, {"s": arrivals(length, seed)}, tries=tries, trains=trains, seed=seed)
