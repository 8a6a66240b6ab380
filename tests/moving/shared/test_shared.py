"""Shared execution against the answers by definition, at the end of every time unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import (
    Drop,
    Event,
    MovingNearest,
    MovingRange,
    Nearest,
    Range,
    Register,
    Report,
    Update,
)
from arterial.moving.queries.ids import id_order
from arterial.moving.queries.space import Space
from arterial.moving.shared.shared import SharedExecution
from tests.moving.feeding import Follower, feed
from tests.moving.worlds import World, random_world
from tests.seeds import seeds

small = st.integers(-3, 3).map(float)
who = st.sampled_from([1, 2, 3, 10, -4, "a", "b"])
name = st.sampled_from([1, "q", "r"])
query = st.one_of(
    st.builds(Range, small, small, small, small),
    st.builds(MovingRange, who, st.sampled_from([0.0, 1.0, 2.0, 7.0]), st.sampled_from([0.0, 2.0, 4.0])),
    st.builds(Nearest, st.integers(1, 4), small, small),
    st.builds(MovingNearest, st.integers(1, 4), who),
)


def event(t: float) -> st.SearchStrategy[Event]:
    report = st.builds(Report, st.just(t), who, small, small)
    return st.one_of(
        report, report, report, st.builds(Register, st.just(t), name, query), st.builds(Drop, st.just(t), name)
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    gaps = draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    return [(float(t), draw(st.lists(event(float(t)), max_size=12))) for t in np.cumsum(gaps)]


def check(world: World, *, space: Space = Space.PLANE, timeout: float | None = None, forget: bool = False) -> None:
    engine, definition, follower = (
        SharedExecution(space=space, timeout=timeout),
        BruteForce(space=space, timeout=timeout),
        Follower(),
    )
    for t, events in world:
        updates = feed(engine, t, events)
        follower.follow(updates)
        definition.take(t, events)
        answers = definition.answers()
        assert engine.answers() == answers
        assert follower.holds(answers)
        assert updates == sorted(updates, key=_file_order)
        if forget:
            engine.forget()


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(worlds(), st.sampled_from([None, 1.0, 2.0, 4.0]), st.booleans())
def test_small_worlds(world: World, timeout: float | None, forget: bool) -> None:
    check(world, timeout=timeout, forget=forget)


@pytest.mark.parametrize("seed", seeds(12, quick=3))
@pytest.mark.parametrize("space", Space)
@pytest.mark.parametrize("timeout", [None, 3.0])
def test_random_worlds(seed: int, space: Space, timeout: float | None) -> None:
    coarse = seed % 2 == 0
    world = random_world(seed, space=space, coarse=coarse, objects=[10, 25, 80, 300][seed % 4])
    check(world, space=space, timeout=timeout, forget=seed % 3 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_worlds(seed: int) -> None:
    space = list(Space)[seed % 2]
    world = random_world(seed, space=space, coarse=seed % 4 < 2, objects=[10, 25, 80, 300][seed % 4], units=40)
    check(world, space=space, timeout=[None, 2.0, 5.0][seed % 3], forget=seed % 5 == 0)


@pytest.mark.thorough
@pytest.mark.parametrize("reporting", [1, 30, 3000])
def test_few_and_many_reports_in_a_time_unit(reporting: int) -> None:
    chance = np.random.default_rng(reporting)
    engine, definition = SharedExecution(), BruteForce()
    at = chance.uniform(0, 100, (3000, 2))
    start: list[Event] = [Report(0.0, i, *at[i].tolist()) for i in range(3000)]
    for i in range(10):
        start += [
            Register(0.0, f"in {i}", Range(5.0 * i, 5.0 * i, 5.0 * i + 20, 5.0 * i + 10)),
            Register(0.0, f"around {i}", MovingRange(i, 9.0, 7.0)),
            Register(0.0, f"near {i}", Nearest(7, 11.0 * i, 50.0)),
            Register(0.0, f"nearest to {i}", MovingNearest(10, i)),
        ]
    feed(engine, 0.0, start)
    definition.take(0.0, start)
    for t in range(1, 10):
        movers = chance.choice(3000, reporting, replace=False)
        at[movers] += chance.normal(0, 2, (reporting, 2))
        events: list[Event] = [Report(float(t), int(i), *at[i].tolist()) for i in movers]
        feed(engine, float(t), events)
        definition.take(float(t), events)
        assert engine.answers() == definition.answers()


def test_an_outlier_does_not_spoil_the_grid() -> None:
    chance = np.random.default_rng(1)
    engine = SharedExecution()
    x, y = chance.uniform(0, 1, 2000), chance.uniform(0, 1, 2000)
    x[7] = 1e12
    engine.step(1.0, engine.objects_of(np.arange(2000)), x, y)
    assert engine.grid.held.max() < 40


def test_a_query_of_the_same_name_takes_over_the_answer() -> None:
    engine = SharedExecution()
    feed(engine, 1.0, [Report(1.0, 1, 0.0, 0.0), Report(1.0, 2, 5.0, 5.0), Register(1.0, "q", Range(0, 0, 1, 1))])
    changed = feed(engine, 2.0, [Drop(2.0, "q"), Register(2.0, "q", Range(0, 0, 9, 9))])
    assert [(update.sign.value, update.object) for update in changed] == [("+", 2)]


def test_a_silent_focal_object_takes_its_queries_along_until_it_returns() -> None:
    engine = SharedExecution(timeout=2.0)
    feed(engine, 1.0, [Report(1.0, 1, 0.0, 0.0), Register(1.0, "q", MovingNearest(1, 1)), Report(1.0, 2, 1.0, 0.0)])
    assert engine.answers() == {"q": {2}}
    feed(engine, 2.0, [Report(2.0, 2, 1.0, 0.0)])
    assert engine.answers() == {"q": {2}}
    feed(engine, 3.0, [Report(3.0, 2, 1.0, 0.0)])
    assert engine.answers() == {"q": set()}
    engine.forget()
    feed(engine, 4.0, [Report(4.0, 1, 0.0, 0.0), Report(4.0, 2, 1.0, 0.0)])
    assert engine.answers() == {"q": {2}}


def test_ids_that_are_gone_make_room_for_others() -> None:
    engine = SharedExecution(timeout=1.0)
    for t in range(50):
        feed(engine, float(t), [Report(float(t), 1000 * t + i, 0.0, 0.0) for i in range(10)])
        engine.register(f"q{t}", Nearest(1, 0.0, 0.0))
        engine.drop(f"q{t - 1}")
        engine.forget()
    assert engine.object_table.used <= 40
    assert engine.query_table.used <= 10


def _file_order(update: Update) -> tuple[object, ...]:
    return id_order(update.query), update.sign.value == "+", id_order(update.object)
