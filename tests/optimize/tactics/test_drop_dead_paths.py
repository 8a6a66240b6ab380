"""drop_dead_paths: what leads nowhere is dropped; what is kept, delivered or read stays."""

from __future__ import annotations

from arterial.drawing import StreamHandle
from arterial.optimize.tactics.drop_dead_paths import drop_dead_paths
from tests.optimize.pairs import Pair, drawn


def fast(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").output("alerts")


def loose_ends(s: StreamHandle) -> None:
    some = s.filter("fast", "speed > 100")
    with s.network.composed("unseen"):
        some.otherwise.map("slow", keep=["time", "object"]).group_by("object", name="by").latest("latest", "object")
    some.output("alerts")


def kept(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").connection_point("history", "1 hour").filter("unseen", "x > 0")
    s.output("all")


def kept_without(s: StreamHandle) -> None:
    s.filter("fast", "speed > 100").connection_point("history", "1 hour")
    s.output("all")


def source_alone(s: StreamHandle) -> None:
    s.network.source("other", {"time": int})
    fast(s)


PAIRS = [
    Pair("loose ends", loose_ends, fast),
    Pair("what is kept stays", kept, kept_without),
    Pair("a source stays", source_alone, source_alone),
]


def test_nothing_to_drop_is_the_same_network() -> None:
    network = drawn(fast)
    assert drop_dead_paths(network) is network
