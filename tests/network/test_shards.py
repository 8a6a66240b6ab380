from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from arterial.engine.spark.partitions import spark_keys, spark_partition
from arterial.network.keys.slots import pieces, slots, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("shards", [1, 2, 3, 4, 7, 8, 16, 33, 64, 200])
def test_spark_keys_cover_all_partitions(shards: int) -> None:
    keys = spark_keys(shards)
    assert sorted(spark_partition(key, shards) for key in keys) == list(range(shards))


def test_our_partition_is_sparks(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    for partitions in (2, 5):
        rows = spark.range(50).select(f.col("id").cast("int").alias("k"))
        found = rows.repartition(partitions, "k").select("k", f.spark_partition_id().alias("p")).collect()
        assert {row.k: row.p for row in found} == {k: spark_partition(k, partitions) for k in range(50)}


def test_slots_never_change() -> None:
    """State lies where these put it: another value here loses every checkpoint."""
    frame = pl.DataFrame(
        {
            "a": pl.Series([0, 1, -1, 2**62, None], dtype=pl.Int64),
            "b": ["", "x", "Straße", None, "x"],
            "c": [0.0, -0.0, float("nan"), None, 1.5],
            "d": pl.Series([True, False, None, True, False]),
        }
    )
    assert slots(frame, ("a",), 7).tolist() == [0, 4, 2, 1, 2]
    assert slots(frame, ("b",), 7).tolist() == [0, 2, 5, 2, 2]
    assert slots(frame, ("c",), 7).tolist() == [0, 0, 0, 2, 0]
    assert slots(frame, ("d",), 7).tolist() == [4, 0, 2, 4, 0]
    assert slots(frame, ("a", "b"), 7).tolist() == [0, 0, 0, 2, 3]


def test_width_of_an_integer_does_not_matter() -> None:
    values = list(range(-100, 100))
    for kind in (pl.Int8, pl.Int16, pl.Int32):
        narrow, wide = pl.Series("k", values, dtype=kind), pl.Series("k", values, dtype=pl.Int64)
        assert (slots(narrow.to_frame(), ("k",), 5) == slots(wide.to_frame(), ("k",), 5)).all()


@pytest.mark.parametrize("shards", [2, 3, 4, 8])
def test_few_neighbouring_keys_are_dealt_out_evenly(shards: int) -> None:
    for keys in (10, 50, 500):
        counts = np.bincount(slots(pl.DataFrame({"k": range(keys)}), ("k",), shards), minlength=shards)
        assert counts.max() <= keys / shards + 2


def test_split_and_pieces_lose_nothing() -> None:
    frame = pl.DataFrame({"k": [i * i for i in range(103)], "n": range(103)})
    for cut in (split(frame, ("k",), 4), pieces(frame, 4)):
        assert pl.concat(cut).sort("n").equals(frame)
        assert all(part["n"].is_sorted() for part in cut)
    assert pl.concat(pieces(frame, 4)).equals(frame)
    assert [part.height for part in pieces(frame.head(2), 4)] == [0, 1, 0, 1]
