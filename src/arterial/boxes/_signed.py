"""What boxes share about signs: signs as weights, and streams without signs as ones in which all rows come."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from arterial.network.box import SIGN, Stream

Array = np.ndarray[Any, Any]


def with_sign(tuples: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """The tuples with a sign, as the last column where the stream has none."""
    return tuples if stream.signed else tuples.with_columns(pl.lit(1, pl.Int8).alias(SIGN))


def weights(tuples: pl.DataFrame, stream: Stream) -> Array:
    """The signs as numbers; a null weighs nothing."""
    if not stream.signed:
        return np.ones(tuples.height, np.int64)
    return tuples[SIGN].cast(pl.Int64).fill_null(0).to_numpy()
