"""Windows of boxes: their checks, and disjoint windows whose aggregates grow tuple by tuple."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl

from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import SIZE, WINDOW, accumulate, accumulator_schema, finish
from arterial.errors import NetworkError
from arterial.network.box import Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Aggregation, Values, aggregation, time_field
from arterial.network.schema import Field
from arterial.network.state import State
from arterial.network.train import Train

_FIRST_OPEN = "first open window"


def check_window(stream: Stream, every: Duration | None, size: int | None) -> int:
    """The length of the window: a time in units of the stream, or a number of tuples."""
    require_order(stream)
    if (every is None) == (size is None):
        raise NetworkError(
            f"expected a window by time (every='1 minute') or by tuples (size=10), got every={every!r}, size={size!r}"
        )
    if size is None:
        assert every is not None
        return units(every, stream.schema[stream.time], "every")
    return check_count(size, "size")


def check_count(count: object, what: str) -> int:
    """A number of tuples, at least one."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise NetworkError(f"{what} must be a whole number of tuples, at least 1, got {count!r}")
    return count


def window_plan(stream: Stream, values: Values, by_tuples: bool = False) -> Aggregation:
    """What is to be computed over windows of that stream."""
    return aggregation(values, stream.schema, stream.keyed_by, stream.time, by_tuples)


def window_stream(stream: Stream, values: Values) -> Stream:
    """The stream of a window box: the group, the time, the values."""
    keys = tuple(Field(key, stream.schema[key]) for key in stream.keyed_by)
    time = time_field(stream.time, stream.schema[stream.time])
    if stream.time in stream.keyed_by:
        raise NetworkError(f"the stream is grouped by its time {stream.time!r}; a window needs groups that last")
    return Stream(window_plan(stream, values).schema(keys, time), stream.time, True, stream.keyed_by)


def tumble_by_time(plan: Aggregation, stream: Stream, train: Train, state: State, every: int) -> Train:
    """The windows of that length of time that end by the train's `through`."""
    keys, tuples = stream.keyed_by, train.tuples
    table = _open_windows(plan, stream, state)
    first: int | None = state.memo.get(_FIRST_OPEN)
    if first is None:
        first = _first(table.index.rows)
    rows = slots = None
    if len(train):
        windows = instants(tuples, stream.time) // every
        groups = table.groups(tuples.select(*keys, pl.Series(WINDOW, windows)))
        rows, _ = accumulate(plan, keys, groups.known, tuples, windows, groups)
        slots = groups.slots
        first = int(windows[0]) if first is None else min(int(windows[0]), first)
    state.memo[_FIRST_OPEN] = first
    if first is None or (first + 1) * every - 1 > train.through:
        if rows is not None:
            table.change(rows, slots=slots)
        return Train(no_windows(plan, stream), train.through)
    opened = table.with_changes(rows, slots)
    last = (opened[WINDOW].to_numpy() + 1) * every - 1
    closed = last <= train.through
    still = opened.filter(pl.Series(~closed))
    table.write(still)
    state.memo[_FIRST_OPEN] = _first(still)
    ended = opened.filter(pl.Series(closed))
    order = np.argsort(last[closed], kind="stable")
    return Train(closed_windows(plan, stream, ended[order], last[closed][order], every), train.through)


def tumble_by_tuples(plan: Aggregation, stream: Stream, train: Train, state: State, size: int) -> Train:
    """The windows of so many tuples that the train fills."""
    if not len(train):
        return Train(no_windows(plan, stream), train.through)
    keys = stream.keyed_by
    table = _open_windows(plan, stream, state)
    tuples = train.tuples
    opened = table.known(tuples.select(*keys, pl.lit(0, pl.Int64).alias(WINDOW)))
    groups, count = slots_of(
        codes([pl.concat([opened[key], tuples[key]]) for key in keys], opened.height + tuples.height)
    )
    sizes = np.zeros(count, np.int64)
    sizes[: opened.height] = opened[SIZE].to_numpy()
    position = np.empty(len(train), np.int64)
    kernels.count_up(groups[opened.height :], sizes, position)
    rows, slots = accumulate(plan, keys, opened, tuples, position // size)
    full = rows[SIZE].to_numpy() == size
    closing = np.full(rows.height, -1, np.int64)
    kernels.pick_last(slots, np.zeros(0, np.bool_), closing, 0)
    order = np.flatnonzero(full)
    order = order[np.argsort(closing[order], kind="stable")]
    times = instants(tuples, stream.time)[closing[order]]
    made = closed_windows(plan, stream, rows[order], times, 1)
    rows = rows.with_columns(pl.lit(0, pl.Int64).alias(WINDOW))
    gone = rows.filter(pl.Series(full)).with_columns(pl.lit(0, pl.Int64).alias(SIZE))
    table.change(pl.concat([gone, rows.filter(pl.Series(~full))]))
    return Train(made, train.through)


@lru_cache(maxsize=256)
def no_windows(plan: Aggregation, stream: Stream) -> pl.DataFrame:
    """What leaves when no window was closed."""
    windows = pl.DataFrame(schema=accumulator_schema(plan, stream.schema, stream.keyed_by))
    more = {
        name: pl.Series(name, [], dtype=field.type.polars)
        for function, names in plan.functions
        for name, field in zip(names, function.produces, strict=True)
    }
    return closed_windows(plan, stream, windows, np.zeros(0, np.int64), 1, more)


def closed_windows(
    plan: Aggregation,
    stream: Stream,
    windows: pl.DataFrame,
    times: np.ndarray[tuple[int], np.dtype[np.int64]],
    length: int,
    more: dict[str, pl.Series] | None = None,
) -> pl.DataFrame:
    """The tuples of windows that ended at those times; `length` counts for windows by time only."""
    kind = time_field(stream.time, stream.schema[stream.time]).type.polars
    starts = pl.Series(times - length + 1, dtype=pl.Int64).cast(kind)
    made = finish(plan, stream.keyed_by, windows, starts, more)
    time = pl.Series(stream.time, times, dtype=pl.Int64).cast(kind)
    return made.insert_column(len(stream.keyed_by), time)


def _first(windows: pl.DataFrame) -> int | None:
    return int(windows[WINDOW].to_numpy().min()) if windows.height else None


def _open_windows(plan: Aggregation, stream: Stream, state: State) -> KeyedTable:
    schema = accumulator_schema(plan, stream.schema, stream.keyed_by)
    return KeyedTable(state, "windows", schema, (*stream.keyed_by, WINDOW), SIZE)
