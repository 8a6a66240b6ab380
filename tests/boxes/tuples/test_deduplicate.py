"""Deduplicate: the first of each key passes, and the memory is bounded."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.boxes.tuples.deduplicate import Deduplicate
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import Train
from arterial.testing import frame
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw, columns


def case(s: StreamHandle) -> None:
    s.deduplicate("box", "k", within=10).output("o1")
    s.deduplicate("box2", "f", "s", within=0).output("o2")
    s.group_by("j").deduplicate("box3", "k", "b", within=40).output("o3")
    s.group_by("k").deduplicate("box4", within=3).output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    names = columns(stream)
    key = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return stream.deduplicate(name, *key, within=draw(st.sampled_from([0, 2, 10])))


def test_the_first_of_a_key_passes() -> None:
    arrivals = tuples((1, 0), (2, 0), (1, 0), (1, 10), (1, 11), (None, 12), (None, 13), (1, 21), (1, 22))
    got = one(lambda s: s.deduplicate("d", "k", within=10), arrivals)
    assert [row[:2] for row in got] == [(1, 0), (2, 0), (1, 11), (None, 12), (1, 22)]


def test_old_keys_are_forgotten() -> None:
    stream = Stream(Schema.of({"t": int, "id": int}), "t")
    box, state = Deduplicate("d", ("id",), 10, fed_by={IN: stream}), MemoryState()
    for i in range(100):
        train = Train(frame([{"t": i, "id": i}], stream.schema), i)
        assert len(box.process({IN: train}, state)["out"]) == 1
        assert sum(len(chunk) for chunk in state.chunks.values()) <= 40
    box.process({IN: Train(stream.schema.empty(), 109)}, state)
    assert not state.chunks


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="got none"):
        stream.deduplicate("d", within=1)
    with pytest.raises(NetworkError, match="cannot be the time"):
        stream.deduplicate("d", "time", within=1)
    with pytest.raises(NetworkError, match="no column 'y'"):
        stream.deduplicate("d", "y", within=1)
    with pytest.raises(NetworkError, match="use distinct"):
        stream.latest("l", "k").deduplicate("d", "k", within=1)
