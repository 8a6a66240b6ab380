"""GPAC-kNN on the streams of the conformance suite; `tests/moving/boxes` has its own streams."""

from __future__ import annotations

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.moving import gpac_knn
from arterial.testing import run
from tests.boxes.drawn import signed


def case(s: StreamHandle) -> None:
    gpac_knn(s, "box", object="k", x="n", y="f", k=2, at=(0, 0)).output("o1")
    gpac_knn(signed(s), "box2", object="j", x="n", y="f", k=1, at=(3, 0), moves=True).output("o2")
    gpac_knn(s, "box3", object="k", x="n", y="x", k=1, focal=1, timeout=9).output("o3")


def test_a_nearer_one_takes_the_place() -> None:
    net = Network("n")
    reports = net.source("s", {"time": int, "object": int, "x": int, "y": int})
    gpac_knn(reports, "nearest", k=1, at=(0, 0)).output("o")
    tuples = [{"time": t, "object": o, "x": x, "y": 0} for t, o, x in ((1, 7, 9), (2, 8, 4))]
    got = run(net, {"s": tuples})["o"]
    assert [(row["time"], row["object"], row["sign"]) for row in got] == [(1, 7, 1), (2, 7, -1), (2, 8, 1)]
