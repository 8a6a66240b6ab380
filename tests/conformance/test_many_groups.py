"""Every box with more groups than an index keeps before it clears itself: one train against many, by several workers.

The other cases of this suite have few groups, so that the interpreter can follow; here the box itself is the reference,
on one train, for which it needs no state.
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from arterial import Network
from arterial.engine.host.inprocess import InProcess
from arterial.network.train import END, Train
from tests.conformance.kinds import cases
from tests.conformance.tuples import SCHEMA

TUPLES, GROUPS, SPAN, TRAINS = 12_000, 9_000, 200, 25
ALL_PAIRS = {"fences", "gpac_in", "match", "moving_queries"}
"""Their cases compare everything with everything: with so many groups they would make a hundred million rows."""
CASES = {kind: case for kind, case in cases().items() if kind not in ALL_PAIRS}


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("kind", CASES)
def test_one_train_and_many(kind: str, shards: int) -> None:
    chance = random.Random(shards)
    tuples = _tuples(shards)
    expected = _run(kind, tuples, [], 1, chance)
    made = _run(kind, tuples, sorted(chance.sample(range(SPAN), TRAINS)), shards, chance)
    for name, rows in expected.items():
        assert made[name].sort(rows.columns).equals(rows.sort(rows.columns)), name


def _run(
    kind: str, tuples: pl.DataFrame, cuts: list[int], shards: int, chance: random.Random
) -> dict[str, pl.DataFrame]:
    """What the outputs got from trains that end at these instants; at times another worker goes on."""
    net = Network(kind)
    CASES[kind](net.source("s", SCHEMA, "t"))
    host, made = InProcess(net.value, shards=shards, ordered_sources=["s"]), []
    for begin, end in pairwise([-1, *cuts, SPAN]):
        some = tuples.filter(pl.col("t").is_between(begin + 1, end))
        made.append(host.step({"s": Train(some, END if end == SPAN else end)}))
        if chance.random() < 0.5:
            host.change_worker()
    return {name: pl.concat([trains[name].tuples for trains in made]) for name in made[0]}


def _tuples(seed: int) -> pl.DataFrame:
    some = np.random.default_rng(seed)

    def column(values: list[object], often: list[object]) -> list[object]:
        """These values, half of them in favour of a few that come often."""
        return [often[pick] if pick < len(often) else value for pick, value in zip(picks, values, strict=True)]

    picks = some.integers(0, 8, TUPLES).tolist()
    keys = some.integers(-1, GROUPS, TUPLES).tolist()
    return pl.DataFrame(
        {
            "k": [key if key >= 0 else None for key in keys],
            "j": [f"id {key // 2}" if key >= 0 else None for key in some.permutation(keys).tolist()],
            "t": np.sort(some.integers(0, SPAN, TUPLES)),
            "x": column(some.integers(0, 10**6, TUPLES).tolist(), [0, 1, 7, None]),
            "n": column(some.integers(-3, 9, TUPLES).tolist(), [1, 2, None]),
            "f": column(some.uniform(-9, 9, TUPLES).tolist(), [0.5, -1.25, 0.1, None]),
            "s": column([f"s {key % 4_000}" for key in keys], ["a", "b", "zz", None]),
            "b": (some.random(TUPLES) < 0.5).tolist(),
        },
        schema=SCHEMA.polars(),
    )
