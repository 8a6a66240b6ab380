"""Pairs expected answers with those that came: each with at most one, as many right pairs as there can be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

# Numbers that are spread over more than so many times their count are hashed instead of counted.
_SPREAD = 8
# Above this many possible pairs of one key they are taken as they come.
_SEARCHED = 10_000


def pair(
    expected: pl.DataFrame, got: pl.DataFrame, key: list[str], right: Callable[[pl.DataFrame], pl.Series]
) -> pl.DataFrame:
    """The pairs (`number` of an expected answer, `row` of one that came, `ok`).

    `right` is given all possible pairs, the columns of what came with the suffix `_got`, and says which are right.
    """
    told = got.rename({name: f"{name}_got" for name in got.columns if name not in (*key, "row")})
    possible = expected.join(told, on=key)
    edges = possible.select("number", "row").with_columns(right(possible).alias("ok"))
    is_shared = _repeated(edges["number"]) | _repeated(edges["row"])
    if not is_shared.any():
        return edges
    alone, shared = edges.filter(~is_shared), edges.filter(is_shared)
    matched = pl.DataFrame(_matched(shared), schema=edges.schema, orient="row")
    return pl.concat([alone, matched])


def _repeated(numbers: pl.Series) -> NDArray[np.bool_]:
    """Which numbers come more than once; counted where they lie close together, as those of rows do."""
    values = numbers.to_numpy()
    if not values.size:
        return np.zeros(0, bool)
    offsets = values - values.min()
    if offsets.max() > _SPREAD * values.size:
        return np.asarray(numbers.is_duplicated())
    return np.asarray(np.bincount(offsets)[offsets] > 1)


def _matched(edges: pl.DataFrame) -> list[tuple[int, int, bool]]:
    """Right pairs first, as many as possible; then any."""
    good: dict[int, list[int]] = {}
    for number, row in edges.filter(pl.col("ok")).select("number", "row").iter_rows():
        good.setdefault(row, []).append(number)
    taken: dict[int, int] = {}
    search = edges.height <= _SEARCHED

    def place(row: int, tried: set[int]) -> bool:
        for number in good[row]:
            if number in tried:
                continue
            tried.add(number)
            if number not in taken or (search and place(taken[number], tried)):
                taken[number] = row
                return True
        return False

    for row in good:
        place(row, set())
    pairs = [(number, row, True) for number, row in taken.items()]
    numbers, rows = set(taken), set(taken.values())
    for number, row in edges.select("number", "row").iter_rows():
        if number not in numbers and row not in rows:
            numbers.add(number)
            rows.add(row)
            pairs.append((number, row, False))
    return pairs
