"""What `arterial run` says while it runs: how far it is, and what is still to be worked off."""

from __future__ import annotations

import pytest

import arterial as art
from arterial.cli.parts.outcome import _headline
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.figures.statistics import Statistics
from arterial.figures.step import BoxFigures, SourceFigures, StepFigures

ARC = "s.out → t.in"


def drawn() -> art.Network:
    net = art.Network("n")
    net.source("s", {"time": int}).tumble("t", every=10, n="count(*)").output("o")
    return net


@pytest.fixture
def statistics() -> Statistics:
    return Statistics(compile_network(drawn().value, 1))


def headline(statistics: Statistics) -> str:
    return _headline({"state": "running", **statistics.describe()})


def test_what_is_held_is_said_when_all_is_read(statistics: Statistics) -> None:
    for second, (share, held) in enumerate([(0.5, 500), (1.0, 1000), (1.0, 800), (1.0, 600)]):
        source = SourceFigures(500, share=share)
        statistics.add_step(StepFigures(second, 1, float(second), 0.5, sources={"s": source}, held={ARC: held}))
    assert statistics.remaining == 3  # 400 of 1,000 went on in 2 seconds
    assert ", 100 % read, 600 held tuples wait, " in headline(statistics)
    assert ", 3 s left, " in headline(statistics)


def test_queues_that_do_not_get_shorter_have_no_end(statistics: Statistics) -> None:
    for second in range(3):
        source = SourceFigures(0, share=1.0)
        statistics.add_step(StepFigures(second, 1, float(second), 0.5, sources={"s": source}, held={ARC: 70}))
    assert statistics.remaining is None
    assert ", 100 % read, 70 held tuples wait, " in headline(statistics)
    assert " left" not in headline(statistics)


def test_outputs_that_another_version_dropped_still_count(statistics: Statistics) -> None:
    boxes = {"o": BoxFigures({"in": 7})}
    statistics.add_step(StepFigures(0, 1, 0.0, 0.5, boxes))
    net = art.Network("n")
    net.source("s", {"time": int}).output("other")
    statistics.follow(compile_network(net.value, 1))
    statistics.add_step(StepFigures(1, 2, 1.0, 0.5, {"other": BoxFigures({"in": 3})}))
    assert statistics.tuples_out == 10


def test_nothing_is_left_when_nothing_is_held(statistics: Statistics) -> None:
    statistics.add_step(StepFigures(0, 1, 0.0, 0.5, sources={"s": SourceFigures(500, share=1.0)}))
    assert statistics.remaining == 0
    assert ", 100 %, " in headline(statistics)
