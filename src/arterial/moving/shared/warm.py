"""Kernels made ready: compiled, or loaded from the disk, before anyone waits for an answer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl

from arterial.moving.queries.events import MovingNearest, MovingRange, Nearest, Range
from arterial.moving.queries.space import Space
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.shared.state import bring_up_to_date, log_objects, log_of, slots_of
from arterial.network.state import MemoryState


@lru_cache
def warm_kernels(space: Space) -> None:
    """Run a tiny world with all kinds of queries, in which all objects report, then few, then some fall silent.

    It comes in columns, as arrays that may not be written to have kernels of their own.
    """
    engine, state = SharedExecution(space=space, timeout=3.0), MemoryState()
    engine.register("range", Range(0.0, 0.0, 5.0, 5.0))
    engine.register("moving range", MovingRange(1, 5.0, 5.0))
    engine.register("nearest", Nearest(2, 0.0, 0.0))
    engine.register("moving nearest", MovingNearest(2, 1))
    for t, count in enumerate((40, 40, 2, 1, 1)):
        ids = pl.Series(np.arange(count))
        x, y = (pl.Series(values).to_numpy() for values in (np.sqrt(ids + t), ids * 0.5))
        slots = slots_of(engine.object_table, ids)
        engine.step(float(t), slots, x, y)
        log_objects(state, engine, [slots, np.array(engine.disconnected, np.int32)])
        engine.forget()
    bring_up_to_date(SharedExecution(space=space), log_of(state))
