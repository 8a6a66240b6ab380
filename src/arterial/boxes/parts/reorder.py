"""Puts tuples that arrive in bounded disorder into the order of their time; shared by Source and BSort.

Whether a tuple is late depends on the tuples that arrived before it, never on where a train ended.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.boxes.parts.order import Held, instants, unordered_through
from arterial.network.box import SIGN
from arterial.network.keys.nulls import filled
from arterial.network.state import State
from arterial.network.train import BEGIN, END, FURTHEST, Train


def reorder(train: Train, state: State, time: str, disorder: int, signed: bool = False) -> tuple[Train, Train]:
    """The ordered train, and the train of the late tuples in the order of their arrival.

    Tuples without a usable time, and in a signed stream those whose sign is neither 1 nor -1, count as late.
    """
    clock = state.get("clock")
    highest, promised = (
        (BEGIN + disorder, BEGIN) if clock is None else (int(clock["highest"][0]), int(clock["promised"][0]))
    )
    tuples, late = split_late(train.tuples, time, highest, promised, disorder, signed)
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
    tuples: pl.DataFrame, time: str, highest: int, promised: int, disorder: int, signed: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tuples that are in time, and the late ones: by the highest time before each, or by what was promised."""
    times = filled(tuples[time].cast(pl.Int64), BEGIN)
    unusable = (times < -FURTHEST) | (times > FURTHEST)
    if signed:
        signs = filled(tuples[SIGN], 0)
        unusable |= (signs != 1) & (signs != -1)
    if unusable.any():
        times = np.where(unusable, BEGIN, times)
    before = np.maximum.accumulate(np.concatenate([[highest], times]))[:-1]
    late = (times < before - disorder) | (times <= promised) | unusable
    if not late.any():
        return tuples, tuples.clear()
    mask = pl.Series(late)
    return tuples.filter(~mask), tuples.filter(mask)
