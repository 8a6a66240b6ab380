"""Source: order, lateness by arrival, ties."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.boxes.source import Source
from arterial.drawing import StreamHandle
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import BEGIN, END, Train
from tests.boxes.drawn import outputs, tuples


def case(s: StreamHandle) -> None:
    s.output("o1")


def test_orders_within_the_disorder_and_sets_late_tuples_apart() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        s.output("o")
        s.late.output("late")

    got = outputs(draw, tuples((1, 5), (2, 3), (3, 2), (4, 5), (5, None), (6, 9), (7, 6), (8, 7)), disorder=2)
    assert [row[:2] for row in got["o"]] == [(2, 3), (1, 5), (4, 5), (8, 7), (6, 9)]
    assert [row[:2] for row in got["late"]] == [(3, 2), (5, None), (7, 6)]


def test_a_tuple_waits_until_its_instant_is_complete() -> None:
    box, state = Source("s", Schema.of({"t": int}), "t", disorder=1), MemoryState()

    def step(times: list[int], promise: int = BEGIN) -> tuple[list[int], int]:
        arrived = Train(pl.DataFrame({"t": np.array(times, np.int64)}), promise)
        train = box.process({"arrivals": arrived}, state)["out"]
        return train.tuples["t"].to_list(), train.through

    assert step([3, 4]) == ([], 2)
    assert step([5]) == ([3], 3)
    assert step([], promise=5) == ([4, 5], 5)
    assert step([5, 7]) == ([], 5)  # a broken promise: the 5 is late
    assert step([], promise=END) == ([7], END)
