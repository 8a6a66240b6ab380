"""An engine that is saved and loaded goes on as if nothing had happened."""

from __future__ import annotations

import pytest

from arterial.moving.run import make_engine
from arterial.moving.space import Space
from arterial.moving.state import load, save
from tests.moving.feeding import feed
from tests.moving.worlds import random_world


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cache", [100.0, 75.0])
def test_a_loaded_engine_goes_on(seed: int, cache: float) -> None:
    space = list(Space)[seed % 2]
    settings = {"space": space, "timeout": 5.0, "cache": cache, "longest_step": 3.0}
    engine = make_engine(**settings)  # type: ignore[arg-type]
    undisturbed = make_engine(**settings)  # type: ignore[arg-type]
    for t, events in random_world(seed, space=space):
        assert feed(engine, t, events) == feed(undisturbed, t, events)
        tables = save(engine)
        engine = make_engine(**settings)  # type: ignore[arg-type]
        load(engine, tables)
        assert engine.answers() == undisturbed.answers()
