"""Smaller caches: what a query may know, and the measured uncertainty."""

from __future__ import annotations

import pytest

from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import MovingRange, Register, Report
from arterial.moving.queries.ids import Id
from arterial.moving.queries.space import Space
from arterial.moving.shared.remembering import RememberingExecution
from arterial.moving.shared.shared import SharedExecution
from tests.moving.feeding import Follower, feed
from tests.moving.queries.test_skeleton import drifting_world
from tests.moving.worlds import random_world


@pytest.mark.parametrize("period", [1, 5])
@pytest.mark.parametrize("longest_step", [1.0, None])
def test_the_conservative_cache_is_exact_after_warm_up(period: int, longest_step: float | None) -> None:
    engine, follower = RememberingExecution(cache=100, longest_step=longest_step), Follower()
    for t, events in drifting_world(seed=4, period=period):
        follower.follow(feed(engine, t, events))
        if t >= 2 * period:
            assert engine.answers() == SharedExecution.answers(engine)
            assert follower.holds(engine.answers())


@pytest.mark.thorough
def test_a_smaller_cache_is_less_exact_and_says_so() -> None:
    wrong, accuracy = {}, {}
    for cache in (100, 25, 0):
        engine, definition = RememberingExecution(cache=cache, longest_step=1.0), BruteForce()
        wrong[cache] = 0
        for t, events in drifting_world(seed=0, period=5):
            feed(engine, t, events)
            definition.take(t, events)
            assert SharedExecution.answers(engine) == definition.answers()
            said, truth = engine.answers(), definition.answers()
            wrong[cache] += sum(len(said[name] ^ truth[name]) for name in truth)
        assert wrong[cache] == engine.uncertainty.missing + engine.uncertainty.extra
        accuracy[cache] = engine.uncertainty.accuracy
    assert accuracy[100] > accuracy[25] > accuracy[0]


def test_a_moving_range_misses_what_it_did_not_keep() -> None:
    for cache, found in ((0, set[Id]()), (100, {"p"})):
        engine = RememberingExecution(cache=cache, longest_step=2.0)
        feed(engine, 1.0, [Register(1.0, "q", MovingRange("m", 4.0, 4.0)), Report(1.0, "m", 0.0, 0.0)])
        feed(engine, 2.0, [Report(2.0, "p", 3.0, 0.0)])
        feed(engine, 3.0, [Report(3.0, "m", 2.0, 0.0)])
        assert engine.answers() == {"q": found}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cache", [0, 75])
def test_an_answer_is_right_among_the_known(seed: int, cache: int) -> None:
    """Whatever the world does, updates are consistent and ranges only miss objects, never invent them."""
    space = list(Space)[seed % 2]
    engine, follower = RememberingExecution(cache=cache, space=space, timeout=4.0), Follower()
    for t, events in random_world(seed, space=space):
        follower.follow(feed(engine, t, events))
        assert follower.holds(engine.answers())
        exact = SharedExecution.answers(engine)
        for name, answer in engine.answers().items():
            if engine.queries.k[engine.query_table.slot(name)] == 0:
                assert answer <= exact[name]
        engine.forget()
