"""Boxes that remember keys for a time, with more keys than an index keeps before it forgets those that are over."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from arterial.drawing import Network
from arterial.engine.host.inprocess import InProcess
from arterial.network.train import END, Train

KEYS, APART, SECONDS = 6_000, 30, 120
"""Each key has a tuple every so many seconds."""


def arrivals() -> pl.DataFrame:
    times = np.repeat(np.arange(SECONDS), KEYS // APART)
    return pl.DataFrame({"time": times, "k": np.arange(len(times)) % KEYS, "x": np.arange(len(times)) // KEYS})


def outputs(step: int, *, workers: bool = False) -> dict[str, pl.DataFrame]:
    net = Network("n")
    stream = net.source("s", {"time": int, "k": int, "x": int})
    stream.group_by("k").previous("before", was="x", within=APART).output("before_o")
    stream.deduplicate("first", "k", within=APART).output("first_o")
    host, tuples, made = InProcess(net.value, ordered_sources=["s"]), arrivals(), []
    for begin in range(0, SECONDS, step):
        end = begin + step
        some = tuples.filter(pl.col("time").is_between(begin, end - 1))
        made.append(host.step({"s": Train(some, END if end >= SECONDS else end - 1)}))
        if workers:
            host.change_worker()
    return {name: pl.concat([trains[name].tuples for trains in made]) for name in made[0]}


@pytest.mark.parametrize(("step", "workers"), [(1, False), (1, True), (7, False), (7, True), (45, False)])
def test_what_the_first_tuple_of_a_train_needs_is_remembered(step: int, workers: bool) -> None:
    made, tuples = outputs(step, workers=workers), arrivals()
    before = tuples.with_columns(was=pl.when(pl.col("x") > 0).then(pl.col("x") - 1))
    assert made["before_o"].equals(before)
    # The key at 0 passes, the one at 30 is within 30 s of it, that at 60 is not.
    assert made["first_o"].equals(tuples.filter(pl.col("x") % 2 == 0))
