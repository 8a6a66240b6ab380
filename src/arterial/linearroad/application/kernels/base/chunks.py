"""Chunks of state as the kernels use them: named numpy columns, and a stamp that says of when they are."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.network.state import State

STAMP = "stamp"


def read(state: State, table: str, key: str = "") -> dict[str, Array] | None:
    """The columns of a chunk, or None if there is none."""
    chunk = state.get(table, key)
    if isinstance(chunk, pl.DataFrame):
        return {name: chunk[name].to_numpy() for name in chunk.columns}
    return None if chunk is None else {name: np.asarray(values) for name, values in chunk.items()}


def read_of(state: State, table: str, key: str, stamp: int) -> dict[str, Array] | None:
    """The columns of a chunk if it is that of this second, minute or train."""
    chunk = read(state, table, key)
    return chunk if chunk is not None and stamp_of(chunk) == stamp else None


def write(state: State, table: str, key: str, stamp: int, columns: dict[str, Array]) -> None:
    """Put a chunk with its stamp."""
    state.put(table, key, {STAMP: np.array([stamp], np.int64), **columns})


def stamp_of(chunk: dict[str, Array]) -> int:
    """The second, minute or train that a chunk is of."""
    return int(chunk[STAMP][0])


def slot(number: int, slots: int) -> str:
    """The key in a ring of so many slots."""
    return f"{number % slots:02}"
