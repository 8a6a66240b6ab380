"""merge_maps: two become one evaluation where the second reads nothing that the first computes."""

from __future__ import annotations

from arterial.drawing import StreamHandle
from tests.optimize.pairs import Pair


def two(s: StreamHandle) -> None:
    s.map("a", z="x + 1").map("b", w="y * 2").output("out")


def one(s: StreamHandle) -> None:
    s.map("a + b", z="x + 1", w="y * 2").output("out")


def kept(s: StreamHandle) -> None:
    s.map("a", z="x + 1").map("b", w="y * 2", keep=["time", "z"]).output("out")


def kept_as_one(s: StreamHandle) -> None:
    s.map("a + b", z="x + 1", w="y * 2", keep=["time"]).output("out")


def other_order(s: StreamHandle) -> None:
    s.map("a", z="x + 1").map("b", w="y * 2", keep=["z", "time"]).output("out")


def reads_it(s: StreamHandle) -> None:
    s.map("a", z="x + 1").map("b", w="z * 2").output("out")


def replaces_it(s: StreamHandle) -> None:
    s.map("a", x="x + 1").map("b", w="x * 2").output("out")


def new_time(s: StreamHandle) -> None:
    s.map("a", t="time + 1", time_column="t").map("b", w="y * 2").output("out")


PAIRS = [
    Pair("two", two, one),
    Pair("reads what the first computes: stays", reads_it, reads_it),
    Pair("reads what the first replaces: stays", replaces_it, replaces_it),
    Pair("another time: stays", new_time, new_time),
    Pair("some columns only", kept, kept_as_one),
    Pair("other order of columns: stays", other_order, other_order),
]
