"""How tables travel through the Spark job: a parcel is a table packed into one binary value, addressed to a bucket.

A bucket is the share of the vehicles, or of the query ids, that one task judges.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

# A parcel is one row of Spark's: small enough for its memory, large enough to be worth one.
ROWS_A_PARCEL = 100_000


class Parcel(NamedTuple):
    """A packed table, or a message: for which bucket, what it is, and its bytes."""

    bucket: int
    kind: str
    payload: bytes


def ints(*names: str) -> dict[str, Any]:
    """The schema of a table of whole numbers."""
    return dict.fromkeys(names, pl.Int64)


def pack(kind: str, table: pl.DataFrame, target: np.ndarray, buckets: int) -> Iterator[Parcel]:
    """A table, cut by the bucket of each row."""
    if table.height == 0:
        return
    order = np.argsort(target, kind="stable")
    ordered = table[order]
    start = 0
    for bucket, size in enumerate(np.bincount(target, minlength=buckets).tolist()):
        for first in range(start, start + size, ROWS_A_PARCEL):
            piece = ordered.slice(first, min(ROWS_A_PARCEL, start + size - first))
            store = io.BytesIO()
            piece.write_ipc_stream(store, compression="lz4")
            yield Parcel(bucket, kind, store.getvalue())
        start += size


def unpack(parcels: Iterable[Parcel], kind: str, schema: dict[str, Any]) -> pl.DataFrame:
    """All tables of one kind as one, with the columns of `schema`."""
    tables = [pl.read_ipc_stream(io.BytesIO(parcel.payload)) for parcel in parcels if parcel.kind == kind]
    wanted = [pl.col(name).cast(dtype) for name, dtype in schema.items()]
    return pl.concat([pl.DataFrame(schema=schema), *(table.select(wanted) for table in tables)])
