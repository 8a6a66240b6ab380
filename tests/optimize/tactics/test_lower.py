"""lower: GPAC boxes move below filters while they run, on reports only; and answers stay the same from then on."""

from __future__ import annotations

import random

import pytest

from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.moving import gpac_in
from arterial.optimize import measured
from arterial.optimize.tactics.lower import lower
from arterial.testing import ListSink, standing, steps
from tests.conformance.plans import REPORTS, world
from tests.optimize.pairs import Pair
from tests.seeds import seeds

AREA = {"region": (-5, -5, 5, 5)}


def high(s: StreamHandle) -> StreamHandle:
    return gpac_in(s.filter("trucks", "type = 'truck'"), "gpac", region=(-5, -5, 5, 5), fixed=["type"])


def low(s: StreamHandle) -> StreamHandle:
    return gpac_in(s, "gpac", region=(-5, -5, 5, 5), fixed=["type"]).filter("trucks", "type = 'truck'")


def signed(s: StreamHandle) -> StreamHandle:
    return gpac_in(s.latest("latest", "object").filter("trucks", "type = 'truck'"), "gpac", region=(-5, -5, 5, 5))


PAIRS = [
    Pair("below a filter", lambda s: high(s).output("o"), lambda s: low(s).output("o"), {"gpac": measured(0.1)}),
    Pair("frequent: stays", lambda s: high(s).output("o"), lambda s: high(s).output("o"), {"gpac": measured(0.5)}),
    Pair("never up", lambda s: low(s).output("o"), lambda s: low(s).output("o"), {"gpac": measured(0.9)}),
    Pair("signed: stays", lambda s: signed(s).output("o"), lambda s: signed(s).output("o"), {"gpac": measured(0.1)}),
]


@pytest.mark.parametrize("timeout", [None, 6])
@pytest.mark.parametrize("seed", seeds(6, quick=2))
def test_moved_while_it_runs(seed: int, timeout: int | None) -> None:
    """Types never change here: that is what `fixed` promises."""
    net = Network("n")
    trucks = net.source("reports", REPORTS).filter("trucks", "type = 'truck'")
    gpac_in(trucks, "gpac", region=(-5, -5, 5, 5), fixed=["type"], timeout=timeout).output("answer")
    moved = lower(net.value, {"gpac": measured(0.1)})
    assert moved != net.value
    reports = [{**one, "type": "truck" if one["object"] % 2 else "car"} for one in world(seed, 300)["reports"]]
    reports = [one for one in reports if one["object"] is not None] if reports else reports
    trains = steps(net.value, {"reports": reports}, 8, seed)
    calm, changed = InProcess(net.value), InProcess(net.value)
    moment = random.Random(seed).randint(1, 7)
    sinks = ListSink({"answer": []}), ListSink({"answer": []})
    for number, step in enumerate(trains):
        if number == moment:
            changed.replace(moved)
            changed.restart()
        for host, sink in zip((calm, changed), sinks, strict=True):
            sink("answer", host.step(step)["answer"])
    stream = net.value.box("answer").fed_by["in"]
    assert standing(sinks[1].tuples["answer"], stream) == standing(sinks[0].tuples["answer"], stream)
    assert sinks[0].tuples["answer"]
