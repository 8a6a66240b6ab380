"""The index over rows by key, against a dictionary."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from arterial.boxes.parts.index import RowIndex

KEYS: dict[str, pl.Series] = {
    "narrow": pl.Series([0, -1, 127, -128, None, 0], dtype=pl.Int8),
    "wide": pl.Series([0, -1, 2**62, -(2**62), None, 0], dtype=pl.Int64),
    "text": pl.Series(["", "a", "b", "ab", None, ""]),
    "flag": pl.Series([False, True, None, True, False, False]),
    "number": pl.Series([0.0, -0.0, float("nan"), 1.5, None, 0.0]),
}


@pytest.mark.parametrize("key", [("narrow",), ("wide",), ("text",), ("narrow", "flag"), tuple(KEYS)])
def test_keys_are_equal_exactly_where_their_values_are(key: tuple[str, ...]) -> None:
    """Values that share a word, or differ only in whether they are null, are different keys."""
    chance = np.random.default_rng(1)
    rows = pl.DataFrame({name: KEYS[name][chance.integers(0, 6, 300)] for name in key}).with_row_index("row")
    groups = RowIndex(key, rows.clear()).groups(rows)
    order: dict[tuple[object, ...], int] = {}
    for number, values in zip(groups.of, rows.select(key).rows(), strict=True):
        plain = tuple("nan" if value != value else value for value in values)
        assert order.setdefault(plain, len(order)) == number
    assert groups.count == len(order)


def test_groups_with_rows_come_first() -> None:
    index = RowIndex(("k",), pl.DataFrame({"k": [5, 7], "v": [50, 70]}))
    groups = index.groups(pl.DataFrame({"k": [9, 7, 9, 3, 5]}))
    assert groups.known["v"].to_list() == [70, 50]
    assert groups.of.tolist() == [2, 0, 2, 3, 1]
    assert groups.everyone.tolist() == [0, 1, 2, 0, 2, 3, 1]
    changed = pl.DataFrame({"k": [9, 3], "v": [90, 30]})
    index.put(changed, np.array([True, False]), slots=groups.slots[2:])
    assert index.rows[index.find(pl.DataFrame({"k": [9, 7]}))]["v"].to_list() == [90, 70]
    assert index.find(pl.DataFrame({"k": [3, 4]})).tolist() == [-1, -1]


def test_an_index_that_begins_again_knows_nothing_of_before() -> None:
    index = RowIndex(("k",), pl.DataFrame({"k": range(3000), "v": range(3000)}))
    index.replace(pl.DataFrame({"k": [2999], "v": [1]}))
    assert index.find(pl.DataFrame({"k": [0, 2999]})).tolist() == [-1, 0]
    assert len(index) == 1
