"""What boxes share about signs: signs as weights, and streams without signs as ones in which all rows come."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.network.box import SIGN, Stream
from arterial.network.signed import row_columns


def with_sign(tuples: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """The tuples with a sign, as the last column where the stream has none."""
    return tuples if stream.signed else tuples.with_columns(pl.lit(1, pl.Int8).alias(SIGN))


def weights(tuples: pl.DataFrame, stream: Stream) -> Array:
    """The signs as numbers; a null weighs nothing."""
    if not stream.signed:
        return np.ones(tuples.height, np.int64)
    return tuples[SIGN].cast(pl.Int64).fill_null(0).to_numpy()


def in_order_of_telling(changes: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """Changes as boxes emit them: by time; at one instant what goes before what comes, each in the order of values."""
    return changes.select(stream.schema.names).sort(stream.time, SIGN, *row_columns(stream), maintain_order=True)


def as_time(times: Array, stream: Stream) -> pl.Series:
    """Instants as the time column of a stream."""
    return pl.Series(times, dtype=pl.Int64).cast(stream.schema[stream.time].polars)


def repeated(changes: pl.DataFrame, weight: Array) -> pl.DataFrame:
    """Each change as often as it weighs, with the sign of its weight."""
    signs = pl.Series(SIGN, np.sign(weight), dtype=pl.Int8)
    changes = changes.with_columns(signs)
    copies = np.abs(weight)
    return changes if (copies == 1).all() else changes[np.repeat(np.arange(changes.height), copies)]


def running(deltas: Array, groups: Array) -> Array:
    """The sum of the deltas so far within each group; rows of a group stand side by side."""
    total: Array = np.cumsum(deltas)
    if not len(total):
        return total
    begins = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    before = np.concatenate([[0], total[begins[1:] - 1]])
    sums: Array = total - np.repeat(before, np.diff(np.append(begins, len(total))))
    return sums


def last_of_runs(*columns: Array) -> Array:
    """Whether a row is the last before one of the columns changes."""
    last = np.ones(len(columns[0]), np.bool_)
    last[:-1] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return last
