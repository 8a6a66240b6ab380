"""share_prefixes: equal boxes on equal streams become one, if they keep nothing."""

from __future__ import annotations

from arterial.drawing import StreamHandle
from tests.optimize.pairs import Pair


def twice(s: StreamHandle) -> None:
    s.filter("a", "speed > 1").map("m", z="x + 1").output("one")
    s.filter("b", "speed > 1").map("n", z="x + 1").output("two")


def once(s: StreamHandle) -> None:
    both = s.filter("a", "speed > 1").map("m", z="x + 1")
    both.output("one")
    both.output("two")


def other_way(s: StreamHandle) -> None:
    s.filter("a", "speed > 1").output("one")
    s.filter("b", "speed > 1").otherwise.output("two")


def other_way_once(s: StreamHandle) -> None:
    both = s.filter("a", "speed > 1")
    both.output("one")
    both.otherwise.output("two")


def with_state(s: StreamHandle) -> None:
    s.tumble("a", every=10, n="count(*)").output("one")
    s.tumble("b", every=10, n="count(*)").output("two")


PAIRS = [
    Pair("from the source on", twice, once),
    Pair("by both ways", other_way, other_way_once),
    Pair("state: stays", with_state, with_state),
]
