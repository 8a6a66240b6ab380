"""How often each value stands in each group of a signed stream: for the least, the greatest, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.boxes.parts.groups import codes
from arterial.boxes.parts.net import Elements
from arterial.boxes.parts.table import KeyedTable
from arterial.network.expression.tree import Call, Tree
from arterial.network.keys.nulls import is_null
from arterial.network.schema import Schema
from arterial.network.state import State

VALUE, COUNT = "@v", "@count"


@dataclass(frozen=True)
class Extremes:
    """At each end: the entries of the least and the greatest value (-1: there is none), and the number of values."""

    values: pl.Series
    low: Array
    high: Array
    number: Array

    def of(self, call: Call) -> pl.Series:
        """The value of an aggregate at each end."""
        if call.function == "count_distinct":
            return pl.Series(self.number)
        chosen = self.low if call.function == "min" else self.high
        return self.values.gather(pl.Series(chosen).set(pl.Series(chosen < 0), None))


class Values:
    """The values of an expression in each group, over trains."""

    def __init__(self, state: State, number: int, tree: Tree, schema: Schema, keys: tuple[str, ...]) -> None:
        assert tree.type is not None
        columns = {key: schema[key].polars for key in keys} | {VALUE: tree.type.polars, COUNT: pl.Int64()}
        self.keys = keys
        self.table = KeyedTable(state, f"values{number}", columns, (*keys, VALUE), COUNT)
        self.known = self.table.read()

    def follow(
        self, tuples: pl.DataFrame, values: pl.Series, weights: Array, groups: tuple[Array, Array], elements: Elements
    ) -> Extremes:
        """What the values come to at each end; the state is written. `groups` are those of known values and tuples."""
        known, rows = self.known, np.flatnonzero(~is_null(values))
        came = pl.DataFrame({key: tuples[key].gather(rows) for key in self.keys} | {VALUE: values.gather(rows)})
        everyone = pl.concat([known.drop(COUNT), came])
        group = np.concatenate([groups[0], groups[1][rows]])
        key = order_key(everyone[VALUE])
        # Entries are the values of a group, the least first, groups side by side.
        order = np.lexsort((key, group))
        first = np.ones(len(order), np.bool_)
        first[1:] = (group[order][1:] != group[order][:-1]) | (key[order][1:] != key[order][:-1])
        entry = np.empty(len(order), np.int64)
        entry[order] = np.cumsum(first) - 1
        example = order[first]
        counts = np.zeros(len(example), np.int64)
        counts[entry[: known.height]] = known[COUNT].to_numpy()
        entry_of_tuple = np.full(tuples.height, -1, np.int64)
        entry_of_tuple[rows] = entry[known.height :]
        begins, ends = (np.searchsorted(group[example], elements.groups, side) for side in ("left", "right"))
        low, high, number = find_extremes(
            elements.is_tuple, elements.rows, elements.is_end, begins, ends, entry_of_tuple, weights, counts
        )
        stands = everyone[example].with_columns(pl.Series(COUNT, counts))
        touched = np.zeros(len(example), np.bool_)
        touched[entry[known.height :]] = True
        self.table.write(stands.filter(pl.col(COUNT) != 0), stands.filter(pl.Series(touched)))
        at = elements.ends
        return Extremes(everyone[VALUE].gather(example), low[at], high[at], number[at])


@njit(cache=True)
def find_extremes(
    is_tuple: Array,
    rows: Array,
    is_end: Array,
    begins: Array,
    ends: Array,
    entry_of_tuple: Array,
    weights: Array,
    counts: Array,
) -> tuple[Array, Array, Array]:
    """The first and the last entry of the group that stands, and how many do, at the elements that are ends.

    An element that is no tuple begins a group; `counts` are brought forward.
    """
    low, high = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    number = np.zeros(len(rows), np.int64)
    least = greatest = standing = 0
    for i in range(len(rows)):
        if not is_tuple[i]:
            least, greatest, standing = begins[i], ends[i] - 1, 0
            for entry in range(begins[i], ends[i]):
                standing += counts[entry] > 0
        else:
            entry = entry_of_tuple[rows[i]]
            if entry >= 0:
                stood = counts[entry] > 0
                counts[entry] += weights[rows[i]]
                if counts[entry] > 0:
                    least, greatest = min(least, entry), max(greatest, entry)
                    standing += not stood
                else:
                    standing -= stood
        if is_end[i]:
            while least < ends[i] and counts[least] <= 0:
                least += 1
            while greatest >= begins[i] and counts[greatest] <= 0:
                greatest -= 1
            number[i] = standing
            if standing > 0:
                low[i], high[i] = least, greatest
    return low, high, number


def order_key(values: pl.Series) -> Array:
    """Whole numbers in the order of the values, equal where they are: NaN the greatest, texts by code point."""
    if values.dtype == pl.String:
        return values.rank("dense").cast(pl.Int64).to_numpy()
    bits = codes([values], len(values))[:, 0]
    if values.dtype == pl.Float64:
        return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    return bits
