"""Source: order, lateness by arrival, ties."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.boxes.ends.source import Source
from arterial.drawing import Network, StreamHandle
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import BEGIN, END, Train
from arterial.testing import check_network, run
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


def test_what_cannot_be_placed_is_late() -> None:
    net = Network("n")
    stream = net.source("s", {"time": int, "sign": "int8"}, signed=True)
    stream.output("o")
    stream.late.output("late")
    rows = [(1, 1), (1, 2), (2, 0), (2, None), (2**62 + 1, 1), (-(2**63), 1), (3, -1)]
    arrivals = {"s": [{"time": time, "sign": sign} for time, sign in rows]}
    check_network(net, arrivals, tries=4)
    got = run(net, arrivals)
    assert [tuple(row.values()) for row in got["o"]] == [rows[0], rows[-1]]
    assert [tuple(row.values()) for row in got["late"]] == rows[1:-1]


def test_windows_at_the_furthest_times() -> None:
    arrivals = tuples((1, 2**62 - 1), (1, 2**62), (1, 2**62 + 1), (1, 2**63 - 1))
    got = outputs(lambda s: (s.tumble("t", every=7, n="count(*)").output("o"), s.late.output("late")), arrivals)
    assert got["o"] == [((2**62 // 7 + 1) * 7 - 1, 2)]
    assert len(got["late"]) == 2
