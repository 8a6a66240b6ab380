"""Previous: the tuple before in the group, and how long it counts."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from tests.boxes.drawn import COLUMNS, one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.group_by("k").previous("box", was="n", sooner="x + 1", within=3).output("o1")
    s.previous("box2", name="s", flag="b and true", zero="f").output("o2")
    s.group_by("j", "s").previous("box3", was="n", within=0).output("o3")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    column = draw(st.sampled_from(stream.schema.names))
    return stream.previous(name, {f"{name}_was": column}, within=draw(st.sampled_from([None, 0, "2 s"])))


ARRIVALS = tuples((1, 1, 31), (2, 1, 40), (1, 2, 32), (1, 9, 33), (2, 9, None), (2, 9, 5))


@pytest.mark.parametrize(
    ("within", "was"), [(None, [None, None, 31, 32, 40, None]), (1, [None, None, 31, None, None, None])]
)
def test_the_tuple_before(within: int | None, was: list[int | None]) -> None:
    got = one(lambda s: s.group_by("k").previous("before", was="x", within=within), ARRIVALS)
    assert [row[-1] for row in got] == was


def test_mistakes() -> None:
    stream = Network("n").source("s", COLUMNS)
    with pytest.raises(NetworkError, match="got none"):
        stream.previous("p")
    with pytest.raises(NetworkError, match="has a column 'x' already"):
        stream.previous("p", x="x")
    with pytest.raises(NetworkError, match="has no type"):
        stream.previous("p", y="null")
