"""Inputs that must advance together: what one brought ahead of the others waits in the state."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from arterial.network.state import State
from arterial.network.train import Train


def ready_together(trains: Mapping[str, Train], state: State) -> tuple[dict[str, pl.DataFrame], int]:
    """What may be used of each input by now, and through which time all of them are complete."""
    through = min(train.through for train in trains.values())
    return {port: _ready(port, train.tuples, through, state) for port, train in trains.items()}, through


def _ready(port: str, tuples: pl.DataFrame, through: int, state: State) -> pl.DataFrame:
    """The tuples up to a time; the rest is kept for a later train."""
    kept = state.get("ahead", port)
    if isinstance(kept, pl.DataFrame):
        tuples = pl.concat([kept, tuples])
        state.drop("ahead", port)
    if tuples.is_empty() or int(tuples["time"][-1]) <= through:
        return tuples
    ahead = int(tuples["time"].search_sorted(through, side="right"))
    state.put("ahead", port, tuples[ahead:])
    return tuples[:ahead]
