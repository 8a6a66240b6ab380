"""insert_projections: columns that nobody needs are left out behind the source; where anybody may, they stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.engine.state.chunks import pack_chunk
from arterial.optimize.tactics.insert_projections import insert_projections
from arterial.testing import steps
from tests.conformance.tuples import SCHEMA, arrivals
from tests.optimize.pairs import Pair


def wide(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").map("few", z="x + 1", keep=["time", "object"]).output("out")


def narrow(s: StreamHandle) -> None:
    kept = s.map("reports narrowed", keep=["time", "object", "x", "speed"])
    kept.filter("fast", "speed > 100").map("few", z="x + 1", keep=["time", "object"]).output("out")


def windows(s: StreamHandle) -> None:
    s.group_by("object", name="by").tumble("t", every=10, top="max(speed)").output("out")


def narrow_windows(s: StreamHandle) -> None:
    kept = s.map("reports narrowed", keep=["time", "object", "speed"])
    kept.group_by("object", name="by").tumble("t", every=10, top="max(speed)").output("out")


def all_leave(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").output("out")


def some_need_all(s: StreamHandle) -> None:
    s.output("all")
    wide(s)


def some_get_all(s: StreamHandle) -> None:
    s.output("all")
    narrow(s)


def kept_in_a_point(s: StreamHandle) -> None:
    s.connection_point("history", "1 hour").filter("fast", "speed > 100").map("few", keep=["time"]).output("out")


def state_of_tuples(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").latest("latest", "object").map("few", keep=["time", "object"]).output("out")


def grouped_again(s: StreamHandle) -> None:
    first = s.group_by("object", name="by").filter("fast", "speed > 100")
    first.group_by("type", name="again").tumble("t", every=10, top="max(speed)").output("out")


def nothing_to_save(s: StreamHandle) -> None:
    s.map("few", keep=["time", "object"]).output("out")


PAIRS = [
    Pair("a filter, and a map that keeps little", wide, narrow),
    Pair("only for those that need less", some_need_all, some_get_all),
    Pair("windows", windows, narrow_windows),
    Pair("once is enough", narrow, narrow),
    Pair("all leave: stay", all_leave, all_leave),
    Pair("kept in a connection point: stay", kept_in_a_point, kept_in_a_point),
    Pair("state holds whole tuples: stay", state_of_tuples, state_of_tuples),
    Pair("ties in the order of their values: stay", grouped_again, grouped_again),
    Pair("nothing is copied: stay", nothing_to_save, nothing_to_save),
]


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(
    "draw",
    [
        lambda s: s.tumble("w", every=5, a="sum(x)", b="first(s)", m="median(x)"),
        lambda s: s.tumble("w", every=5, a="sum(x)", b="count(distinct n)"),
        lambda s: s.tumble("w", size=3, a="max(x)", b="last(n)"),
        lambda s: s.tumble("w", size=3, a="median(x)"),
        lambda s: s.slide("w", over=6, every=2, a="sum(x)"),
        lambda s: s.slide("w", size=3, advance=1, a="min(n)"),
    ],
)
def test_state_does_not_hold_what_goes(draw: Callable[[StreamHandle], Any], shards: int) -> None:
    """What boxes say in `remembers` is so: with or without the other columns their state is the same, bit by bit."""
    net = Network("n")
    draw(net.source("s", SCHEMA, "t", disorder=3).group_by("k", name="by")).output("o")
    narrowed = insert_projections(net.value)
    assert len(narrowed.boxes) == len(net.value.boxes) + 1
    one, other = InProcess(net.value, shards=shards), InProcess(narrowed, shards=shards)
    for step in steps(net.value, {"s": arrivals(60, 5)}, 4, seed=1):
        one.step(step)
        other.step(step)
    names = {name for name in one.touched() | other.touched() if name[1] == "w"}
    assert names
    for name in names:
        (mine, theirs) = (host.chunk(name) for host in (one, other))
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            assert b"".join(pack_chunk(mine)) == b"".join(pack_chunk(theirs)), name
