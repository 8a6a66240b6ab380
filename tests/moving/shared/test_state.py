"""An engine that is saved and loaded goes on as if nothing had happened."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from arterial.moving.queries.events import Event, Report
from arterial.moving.queries.ids import Id
from arterial.moving.queries.space import Space
from arterial.moving.shared.remembering import RememberingExecution, make_engine
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.shared.state import bring_up_to_date, load_known, log_objects, log_of, log_queries, save_known
from arterial.network.state import MemoryState
from tests.moving.feeding import feed
from tests.moving.worlds import random_world


def reloaded(engine: SharedExecution, state: MemoryState, settings: dict[str, Any]) -> SharedExecution:
    new = make_engine(**settings)
    bring_up_to_date(new, log_of(state))
    if isinstance(engine, RememberingExecution) and isinstance(new, RememberingExecution):
        load_known(new, save_known(engine))
    return new


def log(state: MemoryState, engine: SharedExecution, events: list[Event]) -> None:
    touched = [event.object for event in events if isinstance(event, Report)]
    log_objects(state, engine, [engine.objects_of(touched), np.array(engine.disconnected, np.int32)])
    log_queries(state, engine, [event.name for event in events if not isinstance(event, Report)])
    engine.forget()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cache", [100.0, 75.0])
def test_a_loaded_engine_goes_on(seed: int, cache: float) -> None:
    space = list(Space)[seed % 2]
    settings: dict[str, Any] = {"space": space, "timeout": 5.0, "cache": cache, "longest_step": 3.0}
    engine, undisturbed, state = make_engine(**settings), make_engine(**settings), MemoryState()
    for t, events in random_world(seed, space=space, units=60):
        assert feed(engine, t, events) == feed(undisturbed, t, events)
        log(state, engine, events)
        engine = reloaded(engine, state, settings)
        assert engine.answers() == undisturbed.answers()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("timeout", [5.0, None])
def test_engines_go_on_in_turns(seed: int, timeout: float | None) -> None:
    """Each brings itself up to date with what the other one did meanwhile."""
    space, chance = list(Space)[seed % 2], random.Random(seed)
    undisturbed, state = make_engine(space=space, timeout=timeout), MemoryState()
    turns = [(make_engine(space=space, timeout=timeout), log_of(state)) for _ in range(2)]
    for t, events in random_world(seed, space=space, units=60):
        turn = chance.randrange(2)
        engine, known = turns[turn]
        bring_up_to_date(engine, log_of(state), known)
        assert feed(engine, t, events) == feed(undisturbed, t, events)
        log(state, engine, events)
        undisturbed.forget()
        turns[turn] = engine, log_of(state)
        assert engine.answers() == undisturbed.answers()
        assert engine.query_count == undisturbed.query_count


def test_the_log_is_short_and_forgets() -> None:
    engine, state = make_engine(timeout=50.0), MemoryState()
    for t in range(200):
        ids: list[Id] = [7 * t % 1000, "bus"] if t else list(range(1000))
        engine.step(float(t), engine.objects_of(ids), np.full(len(ids), float(t)), np.zeros(len(ids)))
        log_objects(state, engine, [engine.objects_of(ids), np.array(engine.disconnected, np.int32)])
        assert len(state.keys("objects")) < 12
    chunks = [state.chunks["objects", key] for key in state.keys("objects")]
    assert sum(len(chunk["id"]) for chunk in chunks) < 3 * engine.live_count
    new = make_engine(timeout=50.0)
    bring_up_to_date(new, log_of(state))
    assert where_objects_are(new) == where_objects_are(engine)


def where_objects_are(engine: SharedExecution) -> dict[Id, float]:
    live = np.flatnonzero(engine.objects.live)
    return dict(zip(engine.object_table.ids_of(live), engine.objects.x[live].tolist(), strict=True))
