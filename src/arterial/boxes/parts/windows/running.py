"""Running aggregates: the value of each group's aggregates after every tuple, for boxes that never close a window."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import exact, kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.windows.accumulate import SIZE, is_whole_mean, numbers_of, valid_rows
from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.tree import Call
from arterial.network.expression.vectorised import evaluate
from arterial.network.keys.nulls import is_null

_HOW = {"first": 0, "last": 1, "min": 2, "max": 3}


def run(
    plan: Aggregation, keys: tuple[str, ...], known: pl.DataFrame, tuples: pl.DataFrame, resets: Array | None = None
) -> tuple[pl.DataFrame, Array, int]:
    """The accumulators of the group of each tuple, after that tuple.

    `known` holds the accumulators of the groups before. A tuple with a reset empties its group. Also returns the group
    of each row of `known` and then of each tuple, as numbers, and how many groups there are.
    """
    groups, count = slots_of(
        codes([pl.concat([known[key], tuples[key]]) for key in keys], known.height + tuples.height)
    )
    slots = groups[known.height :]
    if resets is None:
        resets = np.zeros(tuples.height, np.bool_)
    before = _Before(known, groups, count)
    sizes = np.empty(tuples.height, np.int64)
    kernels.run_counts(slots, np.zeros(0, np.bool_), resets, before.array(SIZE), sizes)
    columns: dict[str, pl.Series] = {key: tuples[key] for key in keys} | {SIZE: pl.Series(sizes)}
    for i, call in enumerate(plan.calls):
        values = evaluate(tuples, call.arguments)[0] if call.arguments else None
        columns |= _run(i, call, before, values, slots, resets)
    return pl.DataFrame(columns), groups, count


def latest(known: pl.DataFrame, after: pl.DataFrame, groups: Array, count: int) -> pl.DataFrame:
    """The accumulators of the groups that had tuples, after the last tuple."""
    last = np.full(count, -1, np.int64)
    kernels.pick_last(groups[known.height :], np.zeros(0, np.bool_), last, 0)
    return after[last[last >= 0]]


class _Before:
    """The accumulators before the first tuple, by group."""

    def __init__(self, known: pl.DataFrame, groups: Array, count: int) -> None:
        self.known = known
        self.groups = groups[: known.height]
        self.count = count

    def array(self, column: str) -> Array:
        numbers = numbers_of(self.known[column])
        filled = np.zeros(self.count, numbers.dtype)
        filled[self.groups] = numbers
        return filled

    def rows(self, column: str) -> Array:
        rows = np.full(self.count, -1, np.int64)
        rows[self.groups] = np.where(is_null(self.known[column]), -1, np.arange(self.known.height))
        return rows


def _run(
    i: int, call: Call, before: _Before, values: pl.Series | None, slots: Array, resets: Array
) -> dict[str, pl.Series]:
    me = f"@{i}"
    valid = np.zeros(0, np.bool_) if values is None else valid_rows(values)
    counts = np.empty(len(slots), np.int64)
    if call.function == "count":
        kernels.run_counts(slots, valid, resets, before.array(me), counts)
        return {me: pl.Series(counts)}
    assert values is not None
    if is_whole_mean(call):
        columns = {}
        for half, numbers in zip(("upper", "lower"), exact.halves(numbers_of(values)), strict=True):
            column, whole = f"{me}.{half}", np.empty(len(slots), np.int64)
            kernels.run_sums(
                slots, numbers, valid, resets, before.array(column), before.array(f"{me}.n"), whole, counts
            )
            columns[column] = pl.Series(whole)
        return columns | {f"{me}.n": pl.Series(counts)}
    if call.function in ("sum", "avg"):
        sums = before.array(me)
        out = np.empty(len(slots), sums.dtype)
        kernels.run_sums(slots, numbers_of(values), valid, resets, sums, before.array(f"{me}.n"), out, counts)
        return {me: pl.Series(out), f"{me}.n": pl.Series(counts)}
    if call.function == "stddev":
        names = [f"{me}.n", f"{me}.mean", f"{me}.squares"]
        spread = np.empty((len(slots), 3))
        n, mean, squares = (before.array(name) for name in names)
        kernels.run_spread(slots, numbers_of(values), valid, resets, n, mean, squares, spread)
        columns = {name: pl.Series(np.ascontiguousarray(spread[:, k])) for k, name in enumerate(names)}
        return columns | {names[0]: columns[names[0]].cast(pl.Int64)}
    both = pl.concat([before.known[me], values])
    comparable = both.rank("dense") if both.dtype == pl.String else both
    rows = np.empty(len(slots), np.int64)
    offset = before.known.height
    how = _HOW[call.function]
    kernels.run_picks(slots, numbers_of(comparable), valid, resets, before.rows(me), offset, how, rows)
    return {me: both.gather(pl.Series(rows).set(pl.Series(rows < 0), None))}
