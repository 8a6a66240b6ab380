"""Drop: the same share of the same tuples, whatever the train."""

from __future__ import annotations

import polars as pl

from arterial.network.hashing import hash_tuples
from tests.boxes.drawn import one, tuples


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
