"""What a call costs and what a tuple costs, told apart by steps of different lengths."""

from __future__ import annotations

import numpy as np
import pytest

from arterial.figures.calls import COLD, MOST, Calls, Line
from arterial.figures.step import BoxFigures, StepFigures
from arterial.figures.window import Window

CALL, TUPLE = 0.002, 60e-6


def calls_of(tuples: list[int], *, every: float = 0.1, noise: float = 0.0) -> Calls:
    rng = np.random.default_rng(1)
    calls = Calls()
    for place, number in enumerate(tuples):
        calls.add(every * place, number, (CALL + TUPLE * number) * (1 + noise * rng.random()))
    return calls


def about(cost: Line | None, share: float) -> None:
    assert cost is not None
    assert cost.fixed == pytest.approx(CALL, rel=share)
    assert cost.per_tuple == pytest.approx(TUPLE, rel=share)


def test_few_and_many_tuples_tell_a_call_from_a_tuple() -> None:
    about(calls_of([10, 300, 20, 100, 50, 200, 10, 400]).cost, 1e-6)


def test_steps_that_are_all_alike_tell_nothing() -> None:
    assert calls_of([100] * 50).cost is None
    assert calls_of([100, 105, 95] * 20).cost is None
    assert Calls().cost is None


def test_the_first_calls_say_nothing() -> None:
    calls = Calls()
    for place in range(COLD):
        calls.add(0.1 * place, 10_000, 7.0)
    for place, number in enumerate((10, 300, 20, 100, 50, 200), start=COLD):
        calls.add(0.1 * place, number, CALL + TUPLE * number)
    about(calls.cost, 1e-6)


def test_it_is_known_while_a_plan_lets_few_tuples_through() -> None:
    onset = [90, 120, 200, 400, 900, 1500, 700, 300]
    calls = calls_of(onset + [1, 2, 0, 1] * 50, noise=0.2)
    about(calls.cost, 0.25)


def test_a_pause_of_the_machine_hardly_counts() -> None:
    calls = calls_of([10, 300, 20, 100, 50, 200, 10, 400] * 5)
    calls.add(4.0, 100, 5.0)
    about(calls.cost, 0.3)


def test_a_box_that_begins_to_work_is_not_taken_for_pauses() -> None:
    """As an output that delivers nothing before `--from`, however many tuples come."""
    idle = Calls()
    for place, number in enumerate([15_000, 700, 5_000, 2_000] + [0] * 12):
        idle.add(0.1 * place, number, 0.002)
    for place, number in enumerate([1_000, 1_500, 2_500, 4_000, 1_200, 3_000, 1_800, 900], start=16):
        idle.add(0.1 * place, number, CALL + TUPLE * number)
    assert idle.cost is not None
    assert idle.cost.at(3_000) == pytest.approx(CALL + TUPLE * 3_000, rel=0.05)


def test_what_is_dearer_with_fewer_tuples_is_not_believed() -> None:
    calls = Calls()
    for place, number in enumerate((10, 10, 10, 1_000, 1_000, 1_000, 1_000)):
        calls.add(0.1 * place, number, 2.0 if number == 10 else 0.01)
    assert calls.cost is None


def test_a_call_costs_milliseconds() -> None:
    calls = Calls()
    for place, number in enumerate([1_000_000] * 3 + [500_000, 2_000_000] * 4):
        calls.add(float(place), number, 0.5 + 1e-6 * number)
    cost = calls.cost
    assert cost is not None
    assert cost.fixed == MOST
    assert cost.per_tuple == pytest.approx(1.4e-6, rel=0.1), "tuples bear what is no call's"


def test_a_window_keeps_what_older_steps_told() -> None:
    window = Window(1.0)
    for place, number in enumerate([10, 300, 20, 100, 50, 200, *[40] * 30]):
        seconds = CALL + TUPLE * number
        window.add(StepFigures(place, 1, 0.1 * place, 0.1, {"slow": BoxFigures({"in": number}, {}, seconds)}))
    assert window.calls("slow") == len(window.steps) < 36
    about(window.call_cost("slow"), 1e-6)
    assert window.call_cost("other") is None
