"""A frame of live data: a header in JSON, then columns of numbers as they lie in memory, so that a page need not parse.

    4 bytes   the length of the header, little-endian
    header    JSON: what the sender says, and `columns`: {name: [type, offset, length]}; types are f8, f4, i4, u1
    columns   each at a multiple of 8 bytes from the frame's beginning

Whole numbers of 64 bits go as f8: a page has no others. What is beyond 2**53, is null or is text goes in the header,
as `texts`: {name: [value, …]}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

_EXACT = 1 << 53
_CODES = {"<f8": "f8", "<f4": "f4", "<i4": "i4", "|u1": "u1"}


def pack(header: Mapping[str, Any], columns: Mapping[str, np.ndarray[Any, Any]] | None = None) -> bytes:
    """A header with columns as one frame."""
    places: dict[str, tuple[str, int, int]] = {}
    arrays = {name: np.ascontiguousarray(column) for name, column in (columns or {}).items()}
    # The offsets stand in the header, whose length depends on them: they are counted from where the columns begin.
    at = 0
    for name, array in arrays.items():
        places[name] = (_CODES[array.dtype.str], at, len(array))
        at += -(-array.nbytes // 8) * 8
    said = json.dumps({**header, "columns": places}, separators=(",", ":"), default=str)
    return pack_json(said) + b"".join(array.tobytes() + bytes(-array.nbytes % 8) for array in arrays.values())


def pack_json(header: str) -> bytes:
    """A header that is JSON already, with its `columns`."""
    said = header.encode()
    said += b" " * (-(len(said) + 4) % 8)
    return len(said).to_bytes(4, "little") + said


def pack_rows(header: Mapping[str, Any], rows: pl.DataFrame) -> bytes:
    """Rows as a frame: numbers as columns, all else as texts."""
    columns: dict[str, np.ndarray[Any, Any]] = {}
    texts: dict[str, list[Any]] = {}
    for column in rows:
        kind = column.dtype
        if kind.is_numeric() and not column.null_count() and _fits(column):
            columns[column.name] = column.cast(pl.Float64).to_numpy()
        elif isinstance(kind, pl.Datetime):
            texts[column.name] = column.dt.to_string("iso").to_list()
        elif kind.is_integer():
            texts[column.name] = [None if v is None else v if abs(v) <= _EXACT else str(v) for v in column]
        elif kind.is_float():
            texts[column.name] = [v if v is None or abs(v) < float("inf") else str(v) for v in column]
        else:
            texts[column.name] = column.to_list()
    return pack({**header, "names": rows.columns, "height": rows.height, "texts": texts}, columns)


def _fits(column: pl.Series) -> bool:
    if column.dtype.is_float():
        return bool(column.is_finite().all())
    if not len(column) or column.dtype in (pl.Int8, pl.Int16, pl.Int32):
        return True
    low, high = column.min(), column.max()
    return int(low) >= -_EXACT and int(high) <= _EXACT  # type: ignore[arg-type]
