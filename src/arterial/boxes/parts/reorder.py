"""Puts tuples that arrive in bounded disorder into the order of their time; shared by Source and BSort.

Whether a tuple is late depends on the tuples that arrived before it, never on where a train ended.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.boxes.parts.order import Held, instants, unordered_through
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train


def reorder(train: Train, state: State, time: str, disorder: int) -> tuple[Train, Train]:
    """The ordered train, and the train of the late tuples in the order of their arrival."""
    clock = state.get("clock")
    highest, promised = (
        (BEGIN + disorder, BEGIN) if clock is None else (int(clock["highest"][0]), int(clock["promised"][0]))
    )
    tuples, late = split_late(train.tuples, time, highest, promised, disorder)
    arrived = instants(tuples, time)
    if len(arrived):
        highest = max(highest, int(arrived.max()))
    promised = max(promised, train.through)
    through = END if promised == END else max(promised, highest - disorder - 1)
    state.put("clock", "", {"highest": np.array([highest]), "promised": np.array([promised])})

    held = Held(state, "held", time)
    ready = held.take(through)
    now = arrived <= through
    if now.all():
        ready.append(tuples)
    else:
        mask = pl.Series(now)
        held.add(tuples.filter(~mask))
        ready.append(tuples.filter(mask))
    merged = pl.concat(ready) if len(ready) > 1 else ready[0]
    times = instants(merged, time)
    if len(times) and (times[1:] < times[:-1]).any():
        merged = merged[np.argsort(times, kind="stable")]
    return Train(merged, through), Train(late, unordered_through(promised))


def split_late(
    tuples: pl.DataFrame, time: str, highest: int, promised: int, disorder: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tuples that are in time, and the late ones: by the highest time before each, or by what was promised."""
    timeless = tuples[time].is_null()
    times = tuples[time].cast(pl.Int64).fill_null(BEGIN).to_numpy() if timeless.any() else instants(tuples, time)
    before = np.maximum.accumulate(np.concatenate([[highest], times]))[:-1]
    late = (times < before - disorder) | (times <= promised) | timeless.to_numpy()
    if not late.any():
        return tuples, tuples.clear()
    mask = pl.Series(late)
    return tuples.filter(~mask), tuples.filter(mask)
