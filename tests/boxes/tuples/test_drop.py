"""Drop: the same share of the same tuples, whatever the train."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.network.keys.hashing import hash_tuples
from tests.boxes.drawn import one, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.drop("box", 0.4, seed=7).output("o1")
    s.group_by("k").drop("box2", 0.1).output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    return stream.drop(name, draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])), seed=draw(st.integers(0, 5)))


@pytest.mark.thorough
def test_rates() -> None:
    many = tuples(*((i % 7, i, i, "ab"[: i % 3]) for i in range(400)))
    kept = {rate: one(lambda s, rate=rate: s.drop("d", rate, seed=1), many) for rate in (0, 0.25, 1)}  # type: ignore[misc]
    assert len(kept[0]) == 400
    assert 260 < len(kept[0.25]) < 340
    assert kept[1] == []
    assert one(lambda s: s.drop("d", 0.25, seed=2), many) != kept[0.25]


def test_the_hash_never_changes() -> None:
    tuples = pl.DataFrame({"i": [1, None], "f": [0.5, -0.0], "s": ["ä", None]})
    assert hash_tuples(tuples, ["i", "f", "s"], 7).tolist() == [14529587629322630430, 17617946908183952116]
