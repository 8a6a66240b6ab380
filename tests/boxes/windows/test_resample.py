"""Resample: tuples on a grid, interpolated where neighbours are near."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.group_by("k").resample("box", every=3, within=10, x="linear", f="linear", s="previous").output("o1")
    s.resample("box2", every=5, within=6, f="linear", n="previous").output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    fixed = (*stream.type.keyed_by, stream.type.time)
    columns = {
        f.name: draw(st.sampled_from(["linear", "previous"])) if f.type.is_number else "previous"
        for f in stream.schema
        if f.name not in fixed and draw(st.booleans())
    }
    return stream.resample(name, columns, every=draw(st.sampled_from([1, 2, 5])), within=draw(st.sampled_from([1, 8])))


def test_linear_and_previous() -> None:
    arrivals = tuples((1, 1, 10, "a"), (1, 5, 30, "b"), (1, 6, 0, "c"), (1, 6, 1, "d"), (1, 20, 5, "e"))
    got = one(lambda s: s.resample("r", every=2, within=5, x="linear", s="previous"), arrivals)
    assert got == [(2, 15.0, "a"), (4, 25.0, "a"), (6, 1.0, "d"), (20, 5.0, "e")]


def test_null_at_one_end() -> None:
    got = one(lambda s: s.resample("r", every=1, within=5, x="linear"), tuples((1, 0, 1), (1, 2, None), (1, 4, 3)))
    assert got == [(0, 1.0), (1, None), (2, None), (3, None), (4, 3.0)]
