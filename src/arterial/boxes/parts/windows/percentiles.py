"""Percentiles of many windows at once: exact ones of all values, and approximate ones from a histogram.

The histogram divides the numbers between two powers of two into `PARTS` buckets of equal width, so the middle of a
bucket is off by at most 1 / (2 · PARTS) of any number in it. What is counted does not depend on the order of tuples.
Cf. HdrHistogram, and DDSketch (Masson et al., VLDB 2019), whose buckets are logarithmic.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array

PARTS = 64
_BIAS = 1100
"""Makes the exponent of every float positive."""
_INFINITE, _NAN = 2**40, 2**41


def percentiles(values: Array, valid: Array, slots: Array, count: int, share: float) -> pl.Series:
    """The percentile of each slot, interpolated between the two values next to it; null where there is no value."""
    if len(valid):
        values, slots = values[valid], slots[valid]
    ordered = values[np.lexsort((values, slots))]
    sizes = np.bincount(slots, minlength=count)
    place = share * np.maximum(sizes - 1, 0)
    low = np.floor(place)
    begin = np.cumsum(sizes) - sizes
    last = max(len(ordered) - 1, 0)
    ordered = ordered if len(ordered) else np.zeros(1)
    below = ordered[np.minimum(begin + low.astype(np.int64), last)]
    above = ordered[np.minimum(begin + np.ceil(place).astype(np.int64), last)]
    with np.errstate(all="ignore"):
        between = below + (above - below) * (place - low)
    found = np.where((place == low) | (below == above), below, between)
    return pl.Series(found).set(pl.Series(sizes == 0), None)


def histogram_columns(name: str) -> dict[str, pl.DataType]:
    """The columns that keep a histogram: the buckets in order, and how many values are in each."""
    return {f"{name}.buckets": pl.List(pl.Int64()), f"{name}.counts": pl.List(pl.Int64())}


def add_to_histograms(
    name: str, opened: pl.DataFrame, values: Array, valid: Array, slots: Array, count: int
) -> dict[str, pl.Series]:
    """The histograms of all slots with the new values."""
    if len(valid):
        values, slots = values[valid], slots[valid]
    buckets, counts = histogram_columns(name)
    old = pl.DataFrame(
        {"slot": np.arange(opened.height), "bucket": opened[buckets], "n": opened[counts]},
        schema={"slot": pl.Int64(), "bucket": pl.List(pl.Int64()), "n": pl.List(pl.Int64())},
    ).explode("bucket", "n")
    new = pl.DataFrame({"slot": slots, "bucket": _buckets(values), "n": np.ones(len(slots), np.int64)})
    merged = pl.concat([old.drop_nulls(), new]).group_by("slot", "bucket").agg(pl.col("n").sum()).sort("slot", "bucket")
    lists = merged.group_by("slot", maintain_order=True).agg("bucket", "n")
    every = pl.DataFrame({"slot": np.arange(count)}).join(lists, on="slot", how="left", maintain_order="left")
    return {buckets: every["bucket"], counts: every["n"]}


def histogram_percentiles(name: str, windows: pl.DataFrame, share: float) -> pl.Series:
    """The middle of the bucket in which the value of that rank is; null where there is no value."""
    buckets, counts = histogram_columns(name)
    found: list[float | None] = []
    for of, n in zip(windows[buckets].to_list(), windows[counts].to_list(), strict=True):
        if not of:
            found.append(None)
            continue
        rank = int(np.floor(share * (sum(n) - 1)))
        found.append(_middle(of[int(np.searchsorted(np.cumsum(n), rank, side="right"))]))
    return pl.Series(found, dtype=pl.Float64)


def _buckets(values: Array) -> Array:
    """The bucket of each value; buckets are in the order of their values."""
    finite = np.where(np.isfinite(values), values, 0.0)
    mantissas, exponents = np.frexp(np.abs(finite))
    part = np.floor((mantissas - 0.5) * (2 * PARTS)).astype(np.int64)
    bucket = np.where(finite == 0, 0, (exponents + _BIAS) * PARTS + part) * np.sign(finite).astype(np.int64)
    bucket = np.where(np.isinf(values), np.where(values > 0, _INFINITE, -_INFINITE), bucket)
    return np.where(np.isnan(values), _NAN, bucket).astype(np.int64)


def _middle(bucket: int) -> float:
    if bucket == 0:
        return 0.0
    if abs(bucket) >= _INFINITE:
        return float("nan") if bucket == _NAN else float("inf") if bucket > 0 else -float("inf")
    exponent, part = divmod(abs(bucket), PARTS)
    size = float(np.ldexp(0.5 + (part + 0.5) / (2 * PARTS), exponent - _BIAS))
    return size if bucket > 0 else -size
