"""Kernels made ready: compiled, or loaded from the disk, before anyone waits for an answer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arterial.moving.events import MovingNearest, MovingRange, Nearest, Range
from arterial.moving.shared import SharedExecution
from arterial.moving.space import Space


@lru_cache
def warm_kernels(space: Space) -> None:
    """Run a tiny world with all kinds of queries, in which all objects report, then few, then some fall silent."""
    engine = SharedExecution(space=space, timeout=3.0)
    engine.register("range", Range(0.0, 0.0, 5.0, 5.0))
    engine.register("moving range", MovingRange(1, 5.0, 5.0))
    engine.register("nearest", Nearest(2, 0.0, 0.0))
    engine.register("moving nearest", MovingNearest(2, 1))
    for t, count in enumerate((40, 40, 2, 1, 1)):
        ids = np.arange(count)
        engine.step(float(t), engine.objects_of(ids), np.sqrt(ids + t), ids * 0.5)
