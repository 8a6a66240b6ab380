"""Aggregates over windows, many windows at once: accumulators are columns of a frame with one row a window.

The accumulators of the aggregate "@i" are the columns "@i" and, where it needs more, "@i.n", "@i.mean", "@i.upper" ….
They are plain columns, so they are also what a box keeps as its state between trains.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import exact, kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.index import Groups
from arterial.boxes.parts.windows.percentiles import (
    add_to_histograms,
    histogram_columns,
    histogram_percentiles,
    percentiles,
)
from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.tree import Call, share_of
from arterial.network.expression.vectorised import divide, evaluate
from arterial.network.keys.nulls import filled, is_null
from arterial.network.schema import Schema, Type

WINDOW = "@window"
"""The column with the number of the window."""

SIZE = "@size"
"""The column with the number of tuples in the window."""

_ALL = np.zeros(0, np.bool_)


def accumulator_schema(aggregation: Aggregation, schema: Schema, keys: tuple[str, ...]) -> dict[str, pl.DataType]:
    """The columns of a frame of open windows."""
    columns: dict[str, pl.DataType] = {key: schema[key].polars for key in keys}
    columns |= {WINDOW: pl.Int64(), SIZE: pl.Int64()}
    for i, call in enumerate(aggregation.calls):
        columns |= _columns(i, call)
    return columns


def accumulate(
    aggregation: Aggregation,
    keys: tuple[str, ...],
    opened: pl.DataFrame,
    tuples: pl.DataFrame,
    windows: Array,
    known: Groups | None = None,
) -> tuple[pl.DataFrame, Array]:
    """Add tuples to windows: `windows[i]` is the number of tuple i's window within its group.

    Returns the accumulators of all windows, those that were open first, and for each tuple the row of its window.
    `known` are the windows of the tuples as numbers, where they were looked up before.
    """
    before = opened.height
    groups = [pl.concat([opened[key], tuples[key]]) for key in keys]
    numbers = np.concatenate([opened[WINDOW].to_numpy(), windows])
    if known is None:
        everyone, count = slots_of(_window_codes(numbers, groups), before)
    else:
        everyone, count = known.everyone, known.count
    first = np.full(count, -1, np.int64)
    kernels.pick_first(everyone, _ALL, first, 0)
    columns = {key: group[first] for key, group in zip(keys, groups, strict=True)}
    columns[WINDOW] = pl.Series(numbers[first])
    slots = everyone[before:]
    sizes = _grown(opened[SIZE], count)
    kernels.add_counts(slots, _ALL, sizes)
    columns[SIZE] = pl.Series(sizes)
    arguments = iter(evaluate(tuples, [argument for call in aggregation.calls for argument in call.arguments[:1]]))
    for i, call in enumerate(aggregation.calls):
        values = next(arguments) if call.arguments else None
        columns |= _add(i, call, opened, values, slots, count)
    return pl.DataFrame(columns), slots


def merges_exactly(aggregation: Aggregation) -> bool:
    """Whether windows may be put together from parts: a sum of floats depends on the order of its addition."""
    return not aggregation.holistic and all(
        call.function in ("count", "min", "max", "first", "last", "window_start")
        or is_whole_mean(call)
        or (call.function == "sum" and call.type is Type.INT64)
        for call in aggregation.calls
    )


def merge(aggregation: Aggregation, keys: tuple[str, ...], parts: pl.DataFrame, windows: Array) -> pl.DataFrame:
    """The accumulators of windows that are put together from parts, which are in the order of time in each group.

    `windows[i]` is the number of the window to which the accumulators of part i belong.
    """
    slots, count = slots_of(_window_codes(windows, [parts[key] for key in keys]), len(windows))
    first = np.full(count, -1, np.int64)
    kernels.pick_first(slots, _ALL, first, 0)
    columns = {key: parts[key][first] for key in keys} | {WINDOW: pl.Series(windows[first])}
    nothing = parts.clear()
    for name in (SIZE, *(name for i, call in enumerate(aggregation.calls) for name in _columns(i, call))):
        values = parts[name]
        call = None if name == SIZE else aggregation.calls[int(name[1:].partition(".")[0])]
        if call is not None and call.function in ("min", "max", "first", "last"):
            columns[name] = _pick(call.function, nothing[name], values, slots, valid_rows(values), count)
        else:
            sums = np.zeros(count, np.int64)
            kernels.add_sums(slots, numbers_of(values), _ALL, sums, np.zeros(count, np.int64))
            columns[name] = pl.Series(sums)
    return pl.DataFrame(columns)


def _window_codes(numbers: Array, groups: list[pl.Series]) -> Array:
    """The keys of windows as integers; most trains are within one window, whose number is then of no interest."""
    if not groups:
        return numbers.reshape(-1, 1)
    keys = codes(groups, len(numbers))
    if not len(numbers) or (numbers == numbers[0]).all():
        return keys
    return np.column_stack([numbers, keys])


def finish(
    aggregation: Aggregation,
    keys: tuple[str, ...],
    windows: pl.DataFrame,
    starts: pl.Series,
    more: Mapping[str, pl.Series] | None = None,
) -> pl.DataFrame:
    """The output columns of the windows, behind the columns of their groups. `more` are the results of functions."""
    results: dict[str, pl.Series] = {SIZE: windows[SIZE], **{key: windows[key] for key in keys}, **(more or {})}
    for i, call in enumerate(aggregation.calls):
        results[f"@{i}"] = starts if call.function == "window_start" else _result(i, call, windows)
    outputs = evaluate(pl.DataFrame(results), [tree for _, tree in aggregation.outputs])
    made = {key: windows[key] for key in keys}
    return pl.DataFrame(made | {name: column for (name, _), column in zip(aggregation.outputs, outputs, strict=True)})


def numbers_of(column: pl.Series) -> Array:
    """The column as 64-bit numbers; what stands in place of nulls does not matter."""
    if column.dtype != pl.Float64:
        column = column.cast(pl.Int64)
    return filled(column, 0)


def is_whole_mean(call: Call) -> bool:
    """Whether it is a mean of integers, whose sum is kept without loss."""
    return call.function == "avg" and call.arguments[0].type is Type.INT64


def valid_rows(values: pl.Series) -> Array:
    """Which values are not null; empty, if all are."""
    return ~is_null(values) if values.null_count() else _ALL


def _columns(i: int, call: Call) -> dict[str, pl.DataType]:
    match call.function:
        case "count" | "count_distinct":
            return {f"@{i}": pl.Int64()}
        case "sum":
            assert call.type is not None
            return {f"@{i}": call.type.polars, f"@{i}.n": pl.Int64()}
        case "avg":
            parts = ("upper", "lower", "n") if is_whole_mean(call) else ()
            return {f"@{i}.{part}": pl.Int64() for part in parts} or {f"@{i}": pl.Float64(), f"@{i}.n": pl.Int64()}
        case "stddev":
            return {f"@{i}.n": pl.Int64(), f"@{i}.mean": pl.Float64(), f"@{i}.squares": pl.Float64()}
        case "percentile":
            return {f"@{i}": pl.Float64()}
        case "approx_percentile":
            return histogram_columns(f"@{i}")
        case "window_start":
            return {}
    assert call.type is not None
    return {f"@{i}": call.type.polars}


def _add(
    i: int, call: Call, opened: pl.DataFrame, values: pl.Series | None, slots: Array, count: int
) -> dict[str, pl.Series]:
    me = f"@{i}"
    if call.function == "window_start":
        return {}
    if call.function == "count":
        counts = _grown(opened[me], count)
        kernels.add_counts(slots, _ALL if values is None else valid_rows(values), counts)
        return {me: pl.Series(counts)}
    assert values is not None
    valid = valid_rows(values)
    if call.function == "count_distinct":
        return {me: pl.Series(_distinct(values, valid, slots, count))}
    if call.function == "percentile":
        return {me: percentiles(numbers_of(values), valid, slots, count, share_of(call))}
    if call.function == "approx_percentile":
        return add_to_histograms(me, opened, numbers_of(values), valid, slots, count)
    if is_whole_mean(call):
        upper, lower, counts = (_grown(opened[f"{me}.{part}"], count) for part in ("upper", "lower", "n"))
        high, low = exact.halves(numbers_of(values))
        kernels.add_sums(slots, low, valid, lower, counts)
        if high.any():
            kernels.add_sums(slots, high, valid, upper, np.zeros_like(counts))
        return {f"{me}.upper": pl.Series(upper), f"{me}.lower": pl.Series(lower), f"{me}.n": pl.Series(counts)}
    if call.function in ("sum", "avg"):
        sums, counts = _grown(opened[me], count), _grown(opened[f"{me}.n"], count)
        kernels.add_sums(slots, numbers_of(values), valid, sums, counts)
        return {me: pl.Series(sums), f"{me}.n": pl.Series(counts)}
    if call.function == "stddev":
        parts = {name: _grown(opened[f"{me}.{name}"], count) for name in ("n", "mean", "squares")}
        kernels.add_spread(slots, numbers_of(values), valid, *parts.values())
        return {f"{me}.{name}": pl.Series(part) for name, part in parts.items()}
    return {me: _pick(call.function, opened[me], values, slots, valid, count)}


def _pick(function: str, old: pl.Series, values: pl.Series, slots: Array, valid: Array, count: int) -> pl.Series:
    """first, last, min and max: of all values, old and new, the one to keep for each slot."""
    known = np.full(count, -1, np.int64)
    has = ~is_null(old)
    known[: len(old)] = np.where(has, np.arange(len(old)), -1)
    if function in ("min", "max"):
        if values.dtype == pl.String:
            ranks = pl.concat([old, values]).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
            best, counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
            ours = np.concatenate([np.arange(len(old)), slots])
            theirs = np.concatenate([has, valid if len(valid) else np.ones(len(slots), np.bool_)])
            kernels.take_extremes(ours, ranks, theirs, best, counts, function == "max")
            sorted_values = pl.concat([old, values]).drop_nulls().unique().sort()
            return sorted_values.gather(pl.Series(best - 1, dtype=pl.Int64).set(pl.Series(counts == 0), None))
        best, counts = _grown(old, count), (known >= 0) * 1
        kernels.take_extremes(slots, numbers_of(values), valid, best, counts, function == "max")
        return _as(best, counts == 0, old.dtype)
    if function == "last":
        kernels.pick_last(slots, valid, known, len(old))
    else:
        kernels.pick_first(slots, valid, known, len(old))
    rows = pl.Series(known).set(pl.Series(known < 0), None)
    return pl.concat([old, values]).gather(rows)


def _distinct(values: pl.Series, valid: Array, slots: Array, count: int) -> Array:
    counts = np.zeros(count, np.int64)
    pairs = np.column_stack([slots, codes([values], len(values))])
    if len(valid):
        pairs = pairs[valid]
    numbers, distinct = slots_of(pairs)
    first = np.full(distinct, -1, np.int64)
    kernels.pick_first(numbers, _ALL, first, 0)
    kernels.add_counts(np.ascontiguousarray(pairs[first, 0]), _ALL, counts)
    return counts


def _result(i: int, call: Call, windows: pl.DataFrame) -> pl.Series:
    me = f"@{i}"
    if call.function == "sum":
        none = windows[f"{me}.n"].to_numpy() <= 0
        return windows[me].set(pl.Series(none), None) if none.any() else windows[me]
    if call.function == "approx_percentile":
        return histogram_percentiles(me, windows, share_of(call))
    if is_whole_mean(call):
        return exact.mean(*(windows[f"{me}.{part}"].to_numpy() for part in ("upper", "lower", "n")))
    if call.function == "avg":
        return divide(windows[me], windows[f"{me}.n"].cast(pl.Float64))
    if call.function == "stddev":
        count = windows[f"{me}.n"]
        return divide(windows[f"{me}.squares"], (count - 1).clip(0).cast(pl.Float64)).sqrt()
    return windows[me]


def _grown(column: pl.Series, count: int) -> Array:
    """A copy of the column as numbers, with zeros up to that length."""
    numbers = numbers_of(column)
    grown = np.zeros(count, numbers.dtype)
    grown[: len(numbers)] = numbers
    return grown


def _as(numbers: Array, missing: Array, kind: pl.DataType) -> pl.Series:
    column = pl.Series(numbers)
    if missing.any():
        column = column.set(pl.Series(missing), None)
    return column.cast(kind)
