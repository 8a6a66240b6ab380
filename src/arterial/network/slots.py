"""Shards: which slot a tuple belongs to, and which integer represents a slot in Spark so that all partitions get work.

The slot of a tuple must be the same in every process, on every machine and with every version of every library, because
state lies where an earlier run put it. So the hash is our own: integers are spread by the golden ratio (Fibonacci
hashing), which deals neighbouring numbers out evenly even when there are only ten of them, as with expressways.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Slots = np.ndarray[Any, np.dtype[np.int64]]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_NULL = 0x6E756C6C6E756C6C
_SPARK_SEED = 42


def slots(tuples: pl.DataFrame, columns: tuple[str, ...], shards: int) -> Slots:
    """The slot, 0 to shards - 1, of each tuple by the values of its key columns.

    >>> slots(pl.DataFrame({"xway": [0, 1, 2, 3]}), ("xway",), 2).tolist()
    [0, 1, 0, 1]
    """
    if shards == 1 or tuples.height == 0:
        return np.zeros(tuples.height, np.int64)
    first, *others = columns
    hashed = column_hash(tuples[first])
    for name in others:
        hashed = _mix(hashed) ^ column_hash(tuples[name])
    spread = hashed * _GOLDEN
    spread >>= np.uint64(32)
    spread *= np.uint64(shards)
    spread >>= np.uint64(32)
    return spread.view(np.int64)


def split(tuples: pl.DataFrame, columns: tuple[str, ...], shards: int) -> list[pl.DataFrame]:
    """The tuples of each slot, in the order in which they came."""
    if shards == 1:
        return [tuples]
    owner = slots(tuples, columns, shards)
    return [tuples.filter(pl.Series(owner == slot)) for slot in range(shards)]


def pieces(tuples: pl.DataFrame, shards: int) -> list[pl.DataFrame]:
    """The tuples cut into as many contiguous pieces, of nearly equal length."""
    ends = [tuples.height * i // shards for i in range(shards + 1)]
    return [tuples.slice(begin, end - begin) for begin, end in pairwise(ends)]


def column_hash(values: pl.Series) -> Hashes:
    """The 64 bits that a column adds to the hash: equal values give equal bits, whatever the width of the integer."""
    nulls = values.is_null().to_numpy() if values.null_count() else None
    kind = values.dtype
    if kind == pl.String:
        bits = _text_hash(values)
    elif kind.is_float():
        # Both zeros are equal, and so are all that are not a number.
        clean = values.fill_null(0.0).to_numpy().astype(np.float64) + 0.0
        clean[np.isnan(clean)] = np.nan
        bits = _mix(clean.view(np.uint64))
    else:
        whole = values.to_physical() if kind == pl.Datetime else values
        bits = whole.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    if nulls is not None:
        bits = bits.copy()
        bits[nulls] = _NULL
    return bits


@lru_cache
def spark_keys(shards: int) -> tuple[int, ...]:
    """For each slot an integer, such that Spark's hash partitioning puts each into a partition of its own.

    >>> spark_keys(2), spark_keys(4)
    ((2, 0), (12, 6, 2, 0))
    """
    keys: dict[int, int] = {}
    candidate = 0
    while len(keys) < shards:
        keys.setdefault(spark_partition(candidate, shards), candidate)
        candidate += 1
    return tuple(keys[partition] for partition in range(shards))


def spark_partition(key: int, partitions: int) -> int:
    """The partition of an integer under Spark's HashPartitioning: Murmur3 (x86, 32 bits, seed 42), its remainder."""
    block = _rotate(key * 0xCC9E2D51, 15) * 0x1B873593
    state = (_rotate(_SPARK_SEED ^ (block & 0xFFFFFFFF), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= 4  # the length of an integer in bytes
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    state ^= state >> 16
    signed = state - (1 << 32) if state >= 1 << 31 else state
    return signed % partitions


def _rotate(value: int, by: int) -> int:
    value &= 0xFFFFFFFF
    return ((value << by) | (value >> (32 - by))) & 0xFFFFFFFF


def _mix(bits: Hashes) -> Hashes:
    """The finaliser of splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed


def _text_hash(values: pl.Series) -> Hashes:
    # Keys repeat: hash each different text once.
    seen = values.fill_null("").unique()
    codes = np.fromiter((zlib.crc32(text.encode()) for text in seen.to_list()), np.uint64, len(seen))
    positions = pl.DataFrame({"text": values.fill_null("")}).join(
        pl.DataFrame({"text": seen, "code": _mix(codes)}), on="text", how="left", maintain_order="left"
    )
    bits: Hashes = positions["code"].to_numpy()
    return bits
