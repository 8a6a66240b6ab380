"""Shards: which slot a tuple belongs to.

The slot of a tuple must be the same in every process, on every machine and with every version of every library, because
state lies where an earlier run put it. So the hash is our own: integers are spread by the golden ratio (Fibonacci
hashing), which deals neighbouring numbers out evenly even when there are only ten of them, as with expressways.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from arterial.network.keys.hashing import GOLDEN, mix, value_bits, with_nulls

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Slots = np.ndarray[Any, np.dtype[np.int64]]


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
        hashed = mix(hashed) ^ column_hash(tuples[name])
    spread = hashed * np.uint64(GOLDEN)
    spread >>= np.uint64(32)
    spread *= np.uint64(shards)
    spread >>= np.uint64(32)
    return spread.view(np.int64)


def split(tuples: pl.DataFrame, columns: tuple[str, ...], shards: int) -> list[pl.DataFrame]:
    """The tuples of each slot, in the order in which they came."""
    if shards == 1:
        return [tuples]
    nothing = tuples.clear()
    if not tuples.height:
        return [nothing] * shards
    owner = slots(tuples, columns, shards)
    counts = np.bincount(owner, minlength=shards).tolist()
    # Of a short train most slots get nothing, and maybe one all.
    return [
        nothing if not count else tuples if count == tuples.height else tuples.filter(pl.Series(owner == slot))
        for slot, count in enumerate(counts)
    ]


def of_slot(tuples: pl.DataFrame, columns: tuple[str, ...], shards: int, slot: int) -> pl.DataFrame:
    """The tuples of one slot, in the order in which they came."""
    return tuples if shards == 1 else tuples.filter(pl.Series(slots(tuples, columns, shards) == slot))


def pieces(tuples: pl.DataFrame, shards: int) -> list[pl.DataFrame]:
    """The tuples cut into as many contiguous pieces, of nearly equal length."""
    ends = [tuples.height * i // shards for i in range(shards + 1)]
    return [tuples.slice(begin, end - begin) for begin, end in pairwise(ends)]


def column_hash(values: pl.Series) -> Hashes:
    """The 64 bits that a column adds to the hash: equal values give equal bits, whatever the width of the integer."""
    if values.dtype == pl.String:
        bits = _text_hash(values)
    else:
        bits = value_bits(values)
        if values.dtype.is_float():
            bits = mix(bits)
    return with_nulls(bits, values)


def _text_hash(values: pl.Series) -> Hashes:
    # Keys repeat: hash each different text once.
    seen = values.fill_null("").unique()
    codes = np.fromiter((zlib.crc32(text.encode()) for text in seen.to_list()), np.uint64, len(seen))
    positions = pl.DataFrame({"text": values.fill_null("")}).join(
        pl.DataFrame({"text": seen, "code": mix(codes)}), on="text", how="left", maintain_order="left"
    )
    bits: Hashes = positions["code"].to_numpy()
    return bits
