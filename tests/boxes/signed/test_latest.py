"""Latest: the latest report of each object as a relation that changes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import strategies as st

from arterial.boxes.signed.latest import Latest
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.reference.signed.latest import latest
from arterial.testing import check_box, check_network, run
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw
from tests.seeds import seeds


def case(s: StreamHandle) -> None:
    s.latest("box", "k").output("o1")
    s.latest("box2", "j", "s", timeout=3).output("o2")
    s.group_by("k").latest("box3", "k", "j", timeout=20).output("o3")
    s.latest("box4", "f").output("o4")


WEIGHT = 2


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    by = draw(st.sampled_from([("k",), ("j",), ("k", "j"), ("f",), stream.type.keyed_by or ("b",)]))
    return stream.latest(name, *by, timeout=draw(st.sampled_from([None, 1, 7])))


SCHEMA = Schema.of({"t": int, "k": str, "v": int})


def test_a_report_takes_the_place_of_the_one_before() -> None:
    arrivals = tuples((7, 1, 1), (8, 1, 1), (7, 2, 1), (7, 3, 2), (7, 3, 3))
    assert changes(one(lambda s: s.latest("now", "k"), arrivals)) == ["1 +7 1", "1 +8 1", "3 -7 1", "3 +7 3"]


def test_silence() -> None:
    arrivals = tuples((7, 1, 1), (8, 2, 1), (8, 5, 2), (7, 9, 1))
    assert changes(one(lambda s: s.latest("now", "k", timeout=3), arrivals)) == [
        "1 +7 1", "2 +8 1", "4 -7 1", "5 -8 1", "5 +8 2", "8 -8 2", "9 +7 1", "12 -7 1",
    ]  # fmt: skip


def test_in_every_shard() -> None:
    arrivals = tuples((7, 1, 1), (8, 2, 1), (8, 5, 2), (7, 9, 1))
    got = one(lambda s: s.group_by("k").latest("now", "k", timeout=3), arrivals)
    assert len(got) == 8


def changes(rows: list[tuple[Any, ...]]) -> list[str]:
    return [f"{time} {'+' if sign > 0 else '-'}{k} {x}" for k, time, x, _, sign in rows]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32"])
def test_silence_where_the_time_is_narrow(kind: str) -> None:
    net = Network("n")
    net.source("s", {"time": kind, "k": int}).latest("now", "k", timeout=300).output("o")
    arrivals = {"s": [{"time": 100, "k": 1}, {"time": 120, "k": 2}]}
    check_network(net, arrivals, tries=3)
    assert [row["time"] for row in run(net, arrivals)["o"]] == [100, 120, 400, 420]


@pytest.mark.parametrize("seed", seeds(8, quick=2))
def test_meaning(seed: int) -> None:
    chance = random.Random(seed)
    t, arrivals = -5, []
    for _ in range(60):
        t += chance.choice([0, 0, 0, 1, 2, 6])
        arrivals.append({"t": t, "k": chance.choice(["a", "b", "c", "d", None]), "v": chance.choice([1, 2, None])})
    box = Latest("now", ("k",), chance.choice([None, 1, 2, 5]))
    check_box(box, {IN: arrivals}, {IN: Stream(SCHEMA, "t")}, meaning=latest)


@pytest.mark.parametrize(
    ("key", "timeout", "message"),
    [
        ((), None, "got none"),
        (("z",), None, "no column 'z'"),
        (("t",), None, "cannot be the time"),
        (("k",), 0, "timeout"),
    ],
)
def test_mistakes(key: tuple[str, ...], timeout: int | None, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Latest("now", key, timeout).streams({IN: Stream(SCHEMA, "t")})
