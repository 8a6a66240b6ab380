"""reorder: what takes away much for little comes first, where that changes nothing else."""

from __future__ import annotations

import polars as pl

from arterial import function
from arterial.drawing import StreamHandle
from arterial.optimize import measured
from tests.optimize.pairs import Pair


@function(reads=["x"], produces="bool")
def positive(x: pl.Series) -> pl.Series:
    """May fail, for all that the optimizer knows."""
    return x > 0


def late(s: StreamHandle) -> None:
    s.map("more", z="x * y").filter("fast", "speed > 100").output("out")


def early(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").map("more", z="x * y").output("out")


def three(*names: str) -> object:
    predicates = {"a": "speed > 1", "b": "type like '%x%'", "c": "object > 4"}

    def draw(s: StreamHandle) -> None:
        for name in names:
            s = s.filter(name, predicates[name])
        s.output("out")

    return draw


def computed(s: StreamHandle) -> None:
    s.map("more", z="x * y").filter("far", "z > 100").output("out")


def others_read_it(s: StreamHandle) -> None:
    more = s.map("more", z="x * y")
    more.filter("fast", "speed > 100").output("out")
    more.output("all")


def both_ways(s: StreamHandle) -> None:
    some = s.map("more", z="x * y").filter("fast", "speed > 100")
    some.output("out")
    some.otherwise.output("slow")


def behind_a_point(s: StreamHandle) -> None:
    s.connection_point("history", "1 hour").filter("fast", "speed > 100").output("out")


def may_fail(s: StreamHandle) -> None:
    s.filter("known", "x is not null").filter("positive", positive).output("out")


def may_fail_behind_map(s: StreamHandle) -> None:
    s.map("more", z="x * y").filter("positive", positive).output("out")


def may_fail_before_map(s: StreamHandle) -> None:
    s.filter("positive", positive).map("more", z="x * y").output("out")


MAP = {"more": measured(1.0, 5e-6), "fast": measured(0.1), "far": measured(0.1), "positive": measured(0.1)}
THREE = {"a": measured(0.9, 1e-6), "b": measured(0.5, 9e-6), "c": measured(0.1, 1e-6)}

PAIRS = [
    Pair("a filter before an expensive map", late, early, MAP),
    Pair("stays there", early, early, MAP),
    Pair("not known: stays", late, late, {"fast": measured(0.1)}),
    Pair("three filters", three("a", "b", "c"), three("c", "a", "b"), THREE),  # type: ignore[arg-type]
    Pair("not before what computes its columns", computed, computed, MAP),
    Pair("not where others read the stream", others_read_it, others_read_it, MAP),
    Pair("not if both ways are used", both_ways, both_ways, MAP),
    Pair(
        "not past a connection point",
        behind_a_point,
        behind_a_point,
        {"history": measured(1.0, 1e-3), "fast": measured(0.1)},
    ),
    Pair(
        "not before a filter that guards it",
        may_fail,
        may_fail,
        {"known": measured(0.9, 1e-3), "positive": measured(0.1)},
    ),
    Pair("before a map, which leaves nothing out", may_fail_behind_map, may_fail_before_map, MAP),
]
