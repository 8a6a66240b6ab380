"""InARow: the n-th tuple of a run, the further ones, and what ends a run."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw, condition


def case(s: StreamHandle) -> None:
    s.group_by("k").in_a_row("box", "n > 0", n=2).output("o1")
    s.in_a_row("box2", "x > 1 or s like 'a%'", n=3, further=True).output("o2")
    s.group_by("j", "f").in_a_row("box3", "b", n=1).output("o3")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    text = condition(draw, stream.schema)
    return stream.in_a_row(name, text, n=draw(st.integers(1, 3)), further=draw(st.booleans()))


ARRIVALS = tuples((1, 1, 31), (2, 1, 40), (1, 2, 32), (1, 3, 33), (1, 4, 34), (1, 5, None), (1, 6, 35), (2, 9, 9))


@pytest.mark.parametrize(("further", "times"), [(False, [3]), (True, [3, 4])])
def test_three_in_a_row(further: bool, times: list[int]) -> None:
    got = one(lambda s: s.group_by("k").in_a_row("hot", "x > 30", n=3, further=further), ARRIVALS)
    assert [row[1] for row in got] == times


def test_a_run_that_ended_begins_again() -> None:
    got = one(lambda s: s.in_a_row("hot", "x > 0", n=2), tuples(*((1, t, x) for t, x in enumerate([1, 1, 0, 1, 1, 1]))))
    assert [row[1] for row in got] == [1, 4]


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="n must be a whole number"):
        stream.in_a_row("h", "x > 1", n=0)
    with pytest.raises(NetworkError, match="expected a condition"):
        stream.in_a_row("h", "x", n=2)
    with pytest.raises(NetworkError, match="further must be"):
        stream.in_a_row("h", "x > 1", n=2, further=1)  # type: ignore[arg-type]
