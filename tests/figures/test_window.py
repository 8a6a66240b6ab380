"""A window of steps: what goes when it is full, and what controllers read from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arterial.figures.bottlenecks import bottlenecks
from arterial.figures.step import (
    BoxFigures,
    OutputFigures,
    SlotFigures,
    SourceFigures,
    StepFigures,
    as_json,
    from_json,
)
from arterial.figures.window import FEW, Window, percentile


def _step(number: int, seconds: float = 1.0, tuples: int = 10, delay: float = 0.5) -> StepFigures:
    return StepFigures(
        number,
        1,
        100.0 + number,
        seconds,
        {"f": BoxFigures({"in": tuples}, {"out": tuples // 2}, 0.001 * tuples)},
        (SlotFigures(-1, 0, 0.1), SlotFigures(0, 0, 0.2, {"f": 0.15}), SlotFigures(0, 1, 0.4, {"f": 0.3}, 1, 2, 3)),
        {"s": SourceFigures(tuples, 7, 0.25, 99, 0.5)},
        {"o": OutputFigures(tuples // 2, delay, {"low": 1})},
        {"s.out → f.in": 3},
        {"f.out → o.in": 4},
        1,
    )


def test_a_step_survives_json() -> None:
    assert from_json(as_json(_step(3))) == _step(3)
    bare = StepFigures(1, 1, 0.0, 0.5)
    assert from_json(as_json(bare)) == bare


def test_old_steps_go() -> None:
    window = Window(3.0, [_step(n) for n in range(10)])
    assert [step.step for step in window.steps] == [7, 8, 9]
    assert window.box("f") == BoxFigures({"in": 30}, {"out": 15}, pytest.approx(0.03))
    assert window.cost("f") == pytest.approx(0.001)
    assert window.selectivity("f") == 0.5
    assert window.rate("s") == 10
    assert window.cost("unknown") is window.selectivity("unknown") is None
    window.add(_step(11, seconds=100.0))
    assert [step.step for step in window.steps] == [11]
    assert window.span == 100.0


def test_a_window_that_was_filled_step_by_step_is_like_a_new_one() -> None:
    steps = [_step(n, 0.1 + n % 7 / 10, n % 13) for n in range(200)]
    sliding = Window(5.0, steps)
    fresh = Window(1000.0, sliding.steps)
    assert sliding.box("f").tuples_in == fresh.box("f").tuples_in
    assert sliding.seconds == pytest.approx(fresh.seconds)


def test_an_idle_run_shows_in_the_span() -> None:
    window = Window(10.0, [_step(1), _step(60)])
    assert (window.seconds, window.span) == (2.0, 60.0)


def test_delays_are_weighted_by_tuples() -> None:
    window = Window(100.0, [_step(1, delay=0.1, tuples=196), _step(2, delay=2.0, tuples=4), _step(3, tuples=0)])
    delays = window.delays("o")
    assert delays == [(0.1, 98), (2.0, 2)]
    assert (percentile(delays, 0.5), percentile(delays, 0.99), percentile([], 0.5)) == (0.1, 2.0, None)


def test_the_slowest_slot_of_each_level_makes_the_bottleneck() -> None:
    first, *others = bottlenecks(Window(10.0, [_step(1), _step(2)]))
    assert (first["box"], first["level"], first["share"]) == (None, None, pytest.approx(0.5))
    assert others[0] == {"box": "f", "level": 0, "slot": 1, "share": pytest.approx(0.3)}
    assert sum(place["share"] for place in (first, *others)) == pytest.approx(1.0)
    in_turn = replace(_step(1), in_turn=True)
    assert from_json(as_json(in_turn)) == in_turn
    (first, *_), said = bottlenecks(Window(10.0, [in_turn])), {"box": "f", "level": 0, "slot": 1}
    assert first == {**said, "share": pytest.approx(0.45)}


def test_a_window_forgets_by_the_clock_but_keeps_a_few_steps() -> None:
    """A run that rests most of the time takes long to fill ten seconds of steps."""
    window = Window(10.0, [_step(number, seconds=0.01) for number in range(100)])
    assert [step.step for step in window.steps] == list(range(100 - FEW, 100))
    assert window.box("f").tuples_in == {"in": 10 * FEW}


def test_what_a_source_left_unread_is_in_the_file() -> None:
    step = replace(_step(1), sources={"s": SourceFigures(10, 7, 0.25, 99, 0.5, 4), "t": SourceFigures(3)})
    assert from_json(as_json(step)) == step
