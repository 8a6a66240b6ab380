"""An engine that is saved and loaded goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

import pytest

from arterial.moving.remembering import RememberingExecution, make_engine
from arterial.moving.shared import SharedExecution
from arterial.moving.space import Space
from arterial.moving.state import load_known, load_objects, load_queries, save_known, save_objects, save_queries
from tests.moving.feeding import feed
from tests.moving.worlds import random_world


def reloaded(engine: SharedExecution, settings: dict[str, Any]) -> SharedExecution:
    new = make_engine(**settings)
    load_objects(new, [save_objects(engine, begin, begin + 16) for begin in range(0, 64, 16)])
    load_queries(new, save_queries(engine))
    new.settle()
    if isinstance(engine, RememberingExecution) and isinstance(new, RememberingExecution):
        load_known(new, save_known(engine))
    return new


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cache", [100.0, 75.0])
def test_a_loaded_engine_goes_on(seed: int, cache: float) -> None:
    space = list(Space)[seed % 2]
    settings = {"space": space, "timeout": 5.0, "cache": cache, "longest_step": 3.0}
    engine, undisturbed = make_engine(**settings), make_engine(**settings)
    for t, events in random_world(seed, space=space):
        assert feed(engine, t, events) == feed(undisturbed, t, events)
        engine = reloaded(engine, settings)
        assert engine.answers() == undisturbed.answers()
