"""Which share of an arc's tuples was left out, also where those that were not wait in its queue."""

from __future__ import annotations

import math

from arterial import Network, NetworkValue
from arterial.figures.step import BoxFigures, StepFigures
from arterial.figures.window import Window
from arterial.service.shares import kept_of
from arterial.service.utility import utilities

ARC = "s.out → t.in"


def network() -> NetworkValue:
    net = Network("n")
    net.source("s", {"time": "int64"}).tumble("t", every=10, n="count(*)").output("o")
    return net.value


def step(number: int, came: int, shed: int, went_on: int, held: int) -> StepFigures:
    boxes = {"s": BoxFigures({}, {"out": came}), "t": BoxFigures({"in": went_on}), "o": BoxFigures({"in": 0})}
    return StepFigures(number, 1, float(number), 1.0, boxes, shed={ARC: shed}, held={ARC: held} if held else {})


def test_what_is_held_is_not_left_out() -> None:
    """Of 100 tuples 30 are left out, 70 go into the queue, and none goes on."""
    window = Window(math.inf, [step(n, 100, 30, 0, 70 * (n + 1)) for n in range(3)])
    assert kept_of(window, network()) == {ARC: 0.7}
    assert utilities(window, network()) == {"o": 0.7}


def test_what_leaves_a_queue_was_not_left_out_less() -> None:
    """While 500 tuples leave the queue, half of what comes is left out."""
    window = Window(math.inf, [step(0, 100, 50, 500, 200)])
    assert kept_of(window, network()) == {ARC: 0.5}
    assert kept_of(Window(math.inf, [step(0, 100, 50, 50, 0)]), network()) == {ARC: 0.5}
