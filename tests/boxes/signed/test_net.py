"""Net: changes that cancel within an instant are not told."""

from __future__ import annotations

import random

import pytest

from arterial.boxes.signed.net import Net
from arterial.drawing import StreamHandle
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.reference.signed.net import net
from arterial.testing import check_box
from tests.boxes.drawn import one, tuples


def case(s: StreamHandle) -> None:
    s.latest("a", "k").map("few", keep=["t", "k", "j"]).net("box").output("o1")
    s.latest("b", "k", timeout=2).map("fewer", keep=["t", "f"]).group_by("f").net("box2").output("o2")


SCHEMA = Schema.of({"t": int, "k": str, "v": float, "sign": "int8"})


def test_what_cancels_is_not_told() -> None:
    arrivals = tuples((7, 1, 1), (7, 2, 2), (8, 2, 1), (7, 3, 3))
    got = one(lambda s: s.latest("now", "k").map("keys", keep=["k", "time"]).net("told"), arrivals)
    assert got == [(7, 1, 1), (8, 2, 1)]


@pytest.mark.parametrize("seed", range(6))
def test_meaning(seed: int) -> None:
    chance = random.Random(seed)
    t, arrivals = 0, []
    for _ in range(80):
        t += chance.choice([0, 0, 0, 1])
        row = {"k": chance.choice(["a", "b", None]), "v": chance.choice([1.0, None, float("nan")])}
        arrivals.append({"t": t, **row, "sign": chance.choice([1, -1])})
    check_box(Net("net"), {IN: arrivals}, {IN: Stream(SCHEMA, "t", signed=True)}, meaning=net)


def test_without_signs_every_row_comes() -> None:
    assert one(lambda s: s.map("keys", keep=["k", "time"]).net("told"), tuples((7, 1), (7, 1), (8, 2))) == [
        (7, 1, 1), (7, 1, 1), (8, 2, 1),
    ]  # fmt: skip
