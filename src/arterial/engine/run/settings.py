"""How a network is run: the numbers and policies that a run is started with."""

from __future__ import annotations

from dataclasses import dataclass

from arterial.engine.host.failures import FAIL

TRAIN_SIZE = 500_000


@dataclass(frozen=True)
class Settings:
    """How a network is run."""

    shards: int = 0
    """How many shards; 0 means as many as Spark has cores. A checkpoint keeps the number it began with."""
    train_size: int = TRAIN_SIZE
    """About so many tuples of all sources together make a train, if so many wait."""
    policy: str = FAIL
    """What happens when a box fails on a tuple: `fail`, or `set aside`."""
    interval: float = 0.0
    """Seconds from the beginning of one step to that of the next, at least."""
    only_available: bool = False
    """With sources that are Spark's own: end when what was there at the start is read."""
