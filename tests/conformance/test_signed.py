"""Boxes on signed streams whose rows come and go at random, some before they came: both engines agree."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.moving import gpac_in, gpac_knn
from arterial.network.schema import Schema
from arterial.testing import check_network, run, standing
from tests.conformance.tuples import SCHEMA, arrivals

SIGNED = Schema.of({**{f.name: f.type.value for f in SCHEMA}, "sign": "int8"})
VALUES = {
    "n": "count(*)", "nf": "count(f)", "sx": "sum(x)", "sf": "sum(f)", "af": "avg(f)", "hi": "max(f)", "lo": "min(s)",
    "d": "count(distinct f)", "hb": "max(b)", "r": "max(n) - min(n)",
}  # fmt: skip


def changes(length: int, seed: int, valid: bool) -> list[dict[str, Any]]:
    """Rows that come and go; if not `valid`, with any signs."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    stands: list[dict[str, Any]] = []
    for values in sorted((v for v in arrivals(length, seed) if v["t"] is not None), key=lambda v: int(v["t"])):
        if not valid:
            made.append(values | {"sign": chance.choice([1, 1, -1, None])})
        elif stands and chance.random() < 0.45:
            made.append(stands.pop(chance.randrange(len(stands))) | {"t": values["t"], "sign": -1})
        else:
            stands.append(values)
            made.append(values | {"sign": 1})
    return made


Draw = Callable[[StreamHandle, StreamHandle], StreamHandle]

BOXES: dict[str, Draw] = {
    "filter": lambda s, o: s.filter("b", "x > 0 or b"),
    "distinct": lambda s, o: s.map("few", keep=["t", "k", "s"]).distinct("b"),
    "net": lambda s, o: s.map("few", keep=["t", "k", "s"]).net("b"),
    "leaders": lambda s, o: s.map("few", keep=["t", "k", "s"]).leaders("b", 2, "k"),
    "leaders by group": lambda s, o: s.group_by("k").leaders("b", 1, "f", ascending=True),
    "union": lambda s, o: s.union("b", o),
    "aggregate": lambda s, o: s.aggregate("b", VALUES),
    "by group": lambda s, o: s.group_by("k").aggregate("b", VALUES),
    "twice": lambda s, o: s.group_by("j").aggregate("b", n="count(*)").group_by().aggregate("c", m="max(n)"),
    "match": lambda s, o: s.match("b", o, on="left.k = right.k and left.n < right.n"),
    "match by group": lambda s, o: s.group_by("k").match("b", o.group_by("k"), on="left.s = right.s"),
    "gpac_in": lambda s, o: gpac_in(s, "b", object="k", x="n", y="f", region=(0, -3, 5, 1)),
    "gpac_knn": lambda s, o: gpac_knn(s, "b", object="j", x="n", y="f", k=1, at=(0, 0), moves=True),
}


@pytest.mark.thorough
@pytest.mark.parametrize("box", BOXES)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**30), valid=st.booleans(), length=st.integers(0, 40))
def test_on_signed_streams(box: str, seed: int, valid: bool, length: int) -> None:
    _check(box, seed, valid, length)


@pytest.mark.slow
@pytest.mark.parametrize("box", BOXES)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**30), valid=st.booleans(), length=st.integers(0, 60))
def test_on_many_signed_streams(box: str, seed: int, valid: bool, length: int) -> None:
    _check(box, seed, valid, length)


def _check(box: str, seed: int, valid: bool, length: int) -> None:
    net = Network("n")
    sources = [net.source(name, SIGNED, "t", signed=True) for name in ("s", "other")]
    drawn = BOXES[box](sources[0], sources[1])
    drawn.output("o")
    given_ = {"s": changes(length, seed, valid), "other": changes(length // 2, seed + 1, valid)}
    check_network(net, given_, tries=3, seed=seed)
    if valid:  # nothing goes that does not stand
        standing(run(net, given_)["o"], drawn.type)
