"""merge_filters: cheap predicates become one; expensive ones, and those that others read, stay."""

from __future__ import annotations

from arterial.drawing import StreamHandle
from arterial.optimize import measured
from tests.optimize.pairs import Pair


def three(s: StreamHandle) -> None:
    s.filter("a", "speed > 1").filter("b", "x > 0 or y > 0").filter("c", "object > 4").output("out")


def one(s: StreamHandle) -> None:
    s.filter("a + b + c", "((speed > 1) and (x > 0 or y > 0)) and (object > 4)").output("out")


def expensive(s: StreamHandle) -> None:
    s.filter("a", "speed > 1").filter("b", "type like '%x%'").output("out")


def read_by_others(s: StreamHandle) -> None:
    first = s.filter("a", "speed > 1")
    first.filter("b", "x > 0").output("out")
    first.output("all")


def otherwise(s: StreamHandle) -> None:
    s.filter("a", "speed > 1").otherwise.filter("b", "x > 0").output("out")


def composed(s: StreamHandle) -> None:
    with s.network.composed("part"):
        first = s.filter("a", "speed > 1")
    first.filter("b", "x > 0").output("out")


PAIRS = [
    Pair("three in a row", three, one),
    Pair("expensive: stays", expensive, expensive),
    Pair("read by others: stays", read_by_others, read_by_others),
    Pair("by the other way: stays", otherwise, otherwise),
    Pair("a part of something composed: stays", composed, composed),
    Pair("little is left: stays", three, three, {name: measured(0.05) for name in "abc"}),
]
