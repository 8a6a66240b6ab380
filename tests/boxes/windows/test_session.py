"""Session: tuples that follow each other closely, stamps, the exact gap, the end of the stream."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from arterial.boxes.windows.session import Session
from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, Stream
from arterial.network.schema import Schema
from arterial.network.state import MemoryState
from arterial.network.train import Train
from arterial.testing import frame
from tests.boxes.drawn import ALL, COLUMNS, DISTINCT, PERCENTILES, START, one, tuples
from tests.conformance.choices import Draw, values_over


def case(s: StreamHandle) -> None:
    s.group_by("k", "s").session("box", ALL | START, gap=10).output("o1")
    s.session("box2", ALL, gap=1).output("o2")
    s.group_by("j").session("box3", ALL | DISTINCT | PERCENTILES | START, gap=7).output("o3")
    s.session("box4", DISTINCT, gap=2).output("o4")
    s.group_by("k").session("box5", {"size": "count(*)"} | START, gap=7, tuples=True).output("o5")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    values, gap = values_over(draw, stream, draw(st.booleans())), draw(st.sampled_from([1, 5, 10]))
    if draw(st.booleans()):
        return stream.session(name, values, gap=gap)
    values = {f"{name}_{value}": text for value, text in values.items()}  # no column of the stream is called so
    return stream.session(name, values, gap=gap, tuples=True)


@pytest.mark.parametrize("value", ["count(*)", "count(distinct time) + count(*) - count(distinct time)"])
def test_the_gap_is_exact(value: str) -> None:
    arrivals = tuples((1, 0), (2, 5), (1, 30), (2, 36), (1, 61), (1, 90))
    got = one(lambda s: s.group_by("k").session("v", gap=30, n=value, at="window_start()"), arrivals)
    assert sorted(got) == [(1, 30, 2, 0), (1, 90, 2, 61), (2, 5, 1, 5), (2, 36, 1, 36)]


def test_a_session_closes_when_none_can_join_it_and_is_then_forgotten() -> None:
    stream = Stream(Schema.of({"t": int}), "t")
    for value in ("count(*)", "count(distinct t)"):
        box, state = Session("v", (("n", value),), 10, fed_by={IN: stream}), MemoryState()

        def step(
            times: list[int], through: int, box: Session = box, state: MemoryState = state
        ) -> tuple[list[int], int]:
            tuples = frame([{"t": t} for t in times], stream.schema)
            made = box.process({IN: Train(tuples, through)}, state)["out"]
            return made.tuples["n"].to_list(), made.through

        assert step([1, 5], 5) == ([], -5)
        assert step([], 14) == ([], 4)
        assert step([], 15) == ([2], 5)
        assert not state.chunks
        assert step([40, 41, 60], 69) == ([2], 59)
        assert step([], 2**63 - 1) == ([1], 2**63 - 1)


def test_every_tuple_of_a_session_can_leave_with_its_values() -> None:
    arrivals = tuples((1, 0), (2, 5), (1, 30), (2, 36), (1, 61), (1, 90))
    visits = {"n": "count(*)", "at": "window_start()"}
    got = one(lambda s: s.group_by("k").session("v", visits, gap=30, tuples=True), arrivals)
    assert [(row[0], row[1], *row[-2:]) for row in got] == [
        (2, 5, 1, 5), (1, 30, 2, 0), (1, 30, 2, 0), (2, 36, 1, 36), (1, 90, 2, 61), (1, 90, 2, 61),
    ]  # fmt: skip


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="gap must be more than 0"):
        stream.session("v", gap=0, n="count(*)")
    with pytest.raises(NetworkError, match="at least one value"):
        stream.session("v", gap=1)
    with pytest.raises(NetworkError, match="has a column 'k' already"):
        stream.session("v", gap=1, tuples=True, k="count(*)")
    with pytest.raises(NetworkError, match="grouped by its time"):
        stream.group_by("time").session("v", gap=1, n="count(*)")


def test_a_session_that_follows_one_that_closed_in_the_same_train_is_kept() -> None:
    """Of many users at once: what is written must not depend on how rows of one user are sorted."""
    users = np.arange(5_000)
    stream = Stream(Schema.of({"t": int, "user": int}), "t", keyed_by=("user",))
    box, state = Session("v", (("n", "count(*)"),), 10, fed_by={IN: stream}), MemoryState()

    def step(time: int, through: int) -> pl.DataFrame:
        arrivals = pl.DataFrame({"t": np.full(len(users), time), "user": users[::-1]})
        return box.process({IN: Train(arrivals, through)}, state)["out"].tuples

    step(0, 0)
    assert step(50, 55).height == len(users)
    state.memo.clear()
    assert step(58, 200)["n"].to_list() == [2] * len(users)
