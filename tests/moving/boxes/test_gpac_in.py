"""GPAC-IN on the streams of the conformance suite; `tests/moving/boxes` has its own streams."""

from __future__ import annotations

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.moving import gpac_in
from arterial.testing import run
from tests.boxes.drawn import signed


def case(s: StreamHandle) -> None:
    gpac_in(s, "box", object="k", x="n", y="f", region=(0, -3, 5, 1)).output("o1")
    gpac_in(signed(s), "box2", object="k", x="n", y="f", focal=2, length=4, width=9, moves=True).output("o2")
    gpac_in(s.filter("some", "b"), "box3", object="j", x="x", y="n", focal="a", length=4, width=4, focals=s).output(
        "o3"
    )
    gpac_in(s, "box4", object="k", x="n", y="f", region=(0, -3, 5, 1), timeout=5).output("o4")


def test_who_joins_and_leaves() -> None:
    net = Network("n")
    reports = net.source("s", {"time": int, "object": int, "x": int, "y": int})
    gpac_in(reports, "near", region=(0, 0, 5, 5)).output("o")
    tuples = [{"time": t, "object": 7, "x": x, "y": 1} for t, x in ((1, 9), (2, 4), (3, 8))]
    assert [(row["time"], row["sign"]) for row in run(net, {"s": tuples})["o"]] == [(2, 1), (3, -1)]
