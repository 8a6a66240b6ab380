"""Distinct: a row comes with its first copy and goes with its last."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from tests.boxes.drawn import COLUMNS, one, signed, tuples
from tests.conformance.choices import Draw, columns


def case(s: StreamHandle) -> None:
    s.distinct("box").output("o1")
    signed(s).distinct("box2", by=["s", "f"]).output("o2")
    s.group_by("k").distinct("box3", by=["k"]).output("o3")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    names = columns(stream, "sign")
    by = draw(st.one_of(st.none(), st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
    return stream.distinct(name, by)


def test_rows_come_once() -> None:
    arrivals = tuples((1, 1, 5), (2, 1, 5), (1, 2, 6), (2, 3, 6), (1, 4, 5), (2, 4, 9))
    got = one(lambda s: s.latest("l", "k").distinct("d", by=["x"]), arrivals)
    assert got == [(1, 5, 1), (2, 6, 1), (3, 5, -1), (4, 6, -1), (4, 5, 1), (4, 9, 1)]


def test_without_signs_nothing_goes() -> None:
    assert one(lambda s: s.distinct("d"), tuples((1, 1, 5), (1, 1, 5), (1, 9, 5))) == [(1, 1, 5, None, 1)]


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="grouped by 'k'"):
        stream.group_by("k").distinct("d", by=["x"])
    with pytest.raises(NetworkError, match="no part of a row"):
        stream.distinct("d", by=["time"])
    with pytest.raises(NetworkError, match="no column 'y'"):
        stream.distinct("d", by=["y"])
