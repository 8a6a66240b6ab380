"""Windows that overlap, or whose values need all tuples: the tuples wait, a window is computed when it closes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of, touched
from arterial.boxes.parts.order import Held, instants
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import WINDOW, accumulate, accumulator_schema, merge, merges_exactly
from arterial.boxes.parts.windows.cut import closed_windows, no_windows
from arterial.network.box import Stream
from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.function import call_on_window
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

_ALL = np.zeros(0, np.bool_)
_SEQUENCE = "@sequence"


def slide_by_time(
    box: str, plan: Aggregation, stream: Stream, train: Train, state: State, size: int, advance: int
) -> Train:
    """Windows of the time `size`, one ending with every multiple of `advance`, that end by the train's `through`."""
    held = Held(state, "held", stream.time)
    held.add(train.tuples.select(columns_needed(plan, stream)))
    clock = state.get("closed")
    done = BEGIN if clock is None else int(clock["window"][0])
    closed = _last_closed(train.through, advance, size, held)
    if closed <= done:
        return Train(no_windows(plan, stream), train.through)
    state.put("closed", "", {"window": np.array([closed])})
    waiting = held.all()
    made = no_windows(plan, stream)
    if waiting:
        tuples = pl.concat(waiting)
        times = instants(tuples, stream.time)
        if size % advance == 0 and size > advance and merges_exactly(plan):
            made = _by_parts(plan, stream, tuples, times // advance, size, advance, done, closed)
            rows = np.zeros(0, np.int64)
        else:
            first = np.maximum(times // advance, done + 1)
            last = np.minimum((times + size) // advance - 1, closed)
            rows, windows = _expand(first, last)
        if len(rows):
            made = _compute(box, plan, stream, tuples[rows], windows, lambda w, _: (w + 1) * advance - 1, size)
        held.take((closed + 2) * advance - size - 1 if closed < END // advance - 2 else END)
    return Train(made, train.through)


def slide_by_tuples(
    box: str, plan: Aggregation, stream: Stream, train: Train, state: State, size: int, advance: int
) -> Train:
    """Windows of `size` tuples of a group, one beginning with every `advance`-th tuple, that the train fills."""
    if not len(train):
        return Train(no_windows(plan, stream), train.through)
    keys = stream.keyed_by
    needed = columns_needed(plan, stream)
    key_schema = {key: stream.schema[key].polars for key in keys}
    counts = KeyedTable(state, "counts", key_schema | {"count": pl.Int64()}, keys, "count")
    tail_schema = {name: stream.schema[name].polars for name in needed} | {_SEQUENCE: pl.Int64()}
    tail = KeyedTable(state, "tail", tail_schema, (*keys, _SEQUENCE), _SEQUENCE)
    known, old, new = counts.read(), tail.read(), train.tuples.select(needed)

    sizes = [known.height, old.height, new.height]
    groups, count = slots_of(codes([pl.concat([f[key] for f in (known, old, new)]) for key in keys], sum(sizes)))
    of_old, of_new = groups[sizes[0] : sizes[0] + sizes[1]], groups[sizes[0] + sizes[1] :]
    before = np.zeros(count, np.int64)
    before[: known.height] = known["count"].to_numpy()
    after = before.copy()
    sequence = np.empty(len(train), np.int64)
    kernels.count_up(of_new, after, sequence)

    tuples = pl.concat([old, new.with_columns(pl.Series(_SEQUENCE, sequence + 1))])
    group = np.concatenate([of_old, of_new])
    place = tuples[_SEQUENCE].to_numpy() - 1
    first = np.maximum(-((size - 1 - place) // advance), 0)  # ceil((place - size + 1) / advance)
    first = np.maximum(first, (before[group] - size) // advance + 1)
    last = np.minimum(place // advance, (after[group] - size) // advance)
    rows, windows = _expand(first, last)
    made = no_windows(plan, stream)
    if len(rows):
        times = instants(tuples, stream.time)
        made = _compute(box, plan, stream, tuples[rows], windows, lambda _, end: times[rows[end]], 1, rows)
    still = place // advance > (after[group] - size) // advance
    representative = np.full(count, -1, np.int64)
    kernels.pick_first(groups, _ALL, representative, 0)
    all_keys = pl.DataFrame({key: pl.concat([f[key] for f in (known, old, new)])[representative] for key in keys})
    table = all_keys.with_columns(pl.Series("count", after)) if keys else pl.DataFrame({"count": after})
    counts.write(table, table[touched(of_new, count)])
    tail.write(tuples.filter(pl.Series(still)), tuples.slice(old.height).filter(pl.Series(still[old.height :])))
    return Train(made, train.through)


def columns_needed(plan: Aggregation, stream: Stream) -> list[str]:
    """The columns of a tuple that its windows need."""
    return list(dict.fromkeys([*stream.keyed_by, stream.time, *plan.reads]))


def _last_closed(through: int, advance: int, size: int, held: Held) -> int:
    """The number of the last window that ends by `through`; at the end of the stream the last that has tuples."""
    if through == END:
        latest = max((int(instants(chunk, held.time).max()) for chunk in held.all()), default=BEGIN)
        return BEGIN if latest == BEGIN else (latest + size) // advance - 1
    return (through + 1) // advance - 1 if through > BEGIN + advance else BEGIN


def _by_parts(
    plan: Aggregation,
    stream: Stream,
    tuples: pl.DataFrame,
    parts: Array,
    size: int,
    advance: int,
    done: int,
    closed: int,
) -> pl.DataFrame:
    """Windows after `done` and through `closed`, from parts of length `advance` that each belong to several."""
    nothing = pl.DataFrame(schema=accumulator_schema(plan, stream.schema, stream.keyed_by))
    pieces, _ = accumulate(plan, stream.keyed_by, nothing, tuples, parts)
    number = pieces[WINDOW].to_numpy()
    rows, windows = _expand(np.maximum(number, done + 1), np.minimum(number + size // advance - 1, closed))
    if not len(rows):
        return no_windows(plan, stream)
    merged = merge(plan, stream.keyed_by, pieces[rows], windows)
    times = (merged[WINDOW].to_numpy() + 1) * advance - 1
    order = np.argsort(times, kind="stable")
    return closed_windows(plan, stream, merged[order], times[order], size)


def _expand(first: Array, last: Array) -> tuple[Array, Array]:
    """For each row i, the windows first[i]..last[i]: the row numbers, and the windows."""
    counts = np.maximum(last - first + 1, 0)
    rows = np.repeat(np.arange(len(first)), counts)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[rows] + offsets


def _compute(
    box: str,
    plan: Aggregation,
    stream: Stream,
    tuples: pl.DataFrame,
    windows: Array,
    time_of: Any,
    length: int,
    position: Array | None = None,
) -> pl.DataFrame:
    """The tuples of all these windows, in the order of their ends.

    `time_of(window numbers, last rows)` gives their times; `position` orders tuples that closed windows at one time.
    """
    nothing = pl.DataFrame(schema=accumulator_schema(plan, stream.schema, stream.keyed_by))
    done, slots = accumulate(plan, stream.keyed_by, nothing, tuples, windows)
    end = np.full(done.height, -1, np.int64)
    kernels.pick_last(slots, _ALL, end, 0)
    times = time_of(done[WINDOW].to_numpy(), end)
    order = np.argsort(times if position is None else position[end], kind="stable")
    more = call_functions(box, plan, tuples, slots, done.height)
    more = {name: column.gather(order) for name, column in more.items()}
    return closed_windows(plan, stream, done[order], times[order], length, more)


def call_functions(box: str, plan: Aggregation, tuples: pl.DataFrame, slots: Array, count: int) -> dict[str, pl.Series]:
    """The results of the functions over each window; `slots` has the window of each tuple."""
    columns: dict[str, pl.Series] = {}
    if not plan.functions:
        return columns
    grouped = tuples[np.argsort(slots, kind="stable")]
    sizes = np.bincount(slots, minlength=count)
    begins = np.cumsum(sizes) - sizes
    for function, names in plan.functions:
        values = [
            call_on_window(function, box, grouped.slice(int(b), int(n))) for b, n in zip(begins, sizes, strict=True)
        ]
        for i, (name, field) in enumerate(zip(names, function.produces, strict=True)):
            columns[name] = pl.Series(name, [value[i] for value in values], dtype=field.type.polars)
    return columns
