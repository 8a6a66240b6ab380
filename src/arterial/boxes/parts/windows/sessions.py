"""Sessions: which tuples belong together, and their values when no other tuple can join them."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of, touched
from arterial.boxes.parts.order import instants
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import SIZE, WINDOW, accumulate, accumulator_schema
from arterial.boxes.parts.windows.cut import closed_windows, no_windows
from arterial.boxes.parts.windows.recompute import call_functions, columns_needed
from arterial.network.box import Stream
from arterial.network.expression.aggregate import Aggregation
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

_ALL = np.zeros(0, np.bool_)
_LAST, _SEQUENCE, _ALIVE = "@last", "@sequence", "@alive"


def session_by_values(plan: Aggregation, stream: Stream, train: Train, state: State, gap: int) -> Train:
    """The sessions that no later tuple can join; open ones are kept as accumulators."""
    keys = stream.keyed_by
    schema = accumulator_schema(plan, stream.schema, keys) | {_LAST: pl.Int64()}
    table = KeyedTable(state, "sessions", schema, keys, SIZE)
    opened, tuples = table.read(), train.tuples
    times = np.concatenate([opened[_LAST].to_numpy(), instants(tuples, stream.time)])
    numbers = _numbers([pl.concat([opened[key], tuples[key]]) for key in keys], times, gap)
    rows, slots = accumulate(plan, keys, opened.drop(_LAST), tuples, numbers[opened.height :])
    last = np.zeros(rows.height, np.int64)
    last[: opened.height] = opened[_LAST].to_numpy()
    last[slots] = times[opened.height :]  # of several tuples of a session the last one is written last
    closed = last <= _settled(train.through, gap)
    kept = rows.with_columns(pl.lit(0, pl.Int64).alias(WINDOW), pl.Series(_LAST, last)).select(list(schema))
    was_open = np.arange(rows.height) < opened.height
    changed = np.flatnonzero(closed & was_open)
    stays = touched(slots, rows.height)
    stays = stays[~closed[stays]]
    # A session that begins and closes within a train was never kept. Of a group the open session is written last.
    gone = kept[changed].with_columns(pl.lit(0, pl.Int64).alias(SIZE))
    if len(changed) or len(stays):
        table.write(kept.filter(pl.Series(~closed)), pl.concat([gone, kept[stays]]))
    order = np.flatnonzero(closed)
    order = order[np.argsort(last[order], kind="stable")]
    return Train(closed_windows(plan, stream, rows[order], last[order], 1), _settled(train.through, gap))


def session_by_tuples(
    box: str, plan: Aggregation, stream: Stream, train: Train, state: State, gap: int, whole: Schema | None = None
) -> Train:
    """The sessions that no later tuple can join; the tuples of open ones are kept.

    If they leave as a `whole`, each of their tuples does, with columns of this schema.
    """
    keys, settled = stream.keyed_by, _settled(train.through, gap)
    columns = columns_needed(plan, stream) if whole is None else list(stream.schema.names)
    nothing_closed = Train(no_windows(plan, stream) if whole is None else whole.empty(), settled)
    schema = {name: stream.schema[name].polars for name in columns} | {_SEQUENCE: pl.Int64(), _ALIVE: pl.Int8()}
    table = KeyedTable(state, "tuples", schema, (_SEQUENCE,), _ALIVE)
    old = table.read()
    begin = int(np.max(old[_SEQUENCE].to_numpy(), initial=-1)) + 1
    new = train.tuples.select(columns).with_columns(
        pl.Series(_SEQUENCE, np.arange(begin, begin + len(train))), pl.lit(1, pl.Int8).alias(_ALIVE)
    )
    tuples = pl.concat([old.select(list(schema)), new])
    if not tuples.height:
        return nothing_closed
    times = instants(tuples, stream.time)
    numbers = _numbers([tuples[key] for key in keys], times, gap)
    session, count = slots_of(np.column_stack([numbers, codes([tuples[key] for key in keys], len(times))]))
    last = np.zeros(count, np.int64)
    last[session] = times
    closed = (last <= settled)[session]
    mask = pl.Series(closed)
    gone = tuples.filter(mask).with_columns(pl.lit(0, pl.Int8).alias(_ALIVE))
    table.write(tuples.filter(~mask), pl.concat([gone, new.filter(~mask[old.height :])]))
    if not closed.any():
        return nothing_closed
    nothing = pl.DataFrame(schema=accumulator_schema(plan, stream.schema, keys))
    done, slots = accumulate(plan, keys, nothing, tuples.filter(mask), numbers[closed])
    ends = np.zeros(done.height, np.int64)
    ends[slots] = times[closed]
    order = np.argsort(ends, kind="stable")
    more = call_functions(box, plan, tuples.filter(mask), slots, done.height)
    more = {name: column.gather(order) for name, column in more.items()}
    sessions = closed_windows(plan, stream, done[order], ends[order], 1, more)
    if whole is None:
        return Train(sessions, settled)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of_tuple = rank[slots]
    places = np.argsort(of_tuple, kind="stable")
    own = tuples.filter(mask).select(name for name in columns if name != stream.time)[places]
    values = sessions[of_tuple[places]].drop(keys)
    return Train(pl.concat([own, values], how="horizontal").select(whole.names), settled)


def _numbers(keys: list[pl.Series], times: Array, gap: int) -> Array:
    """The number of each row's session within its group; the rows of a group are in the order of time."""
    groups, count = slots_of(codes(keys, len(times)))
    order = kernels.sort_by_slot(groups, kernels.bounds(groups, count))
    same = groups[order][1:] == groups[order][:-1]
    breaks = np.zeros(len(times), np.int64)
    breaks[1:] = ~same | (times[order][1:] - gap > times[order][:-1])
    numbers = np.empty(len(times), np.int64)
    numbers[order] = np.cumsum(breaks)
    first = np.full(count, -1, np.int64)
    kernels.pick_first(groups, _ALL, first, 0)
    return numbers - numbers[first][groups]


def _settled(through: int, gap: int) -> int:
    """Sessions whose last tuple is not after this are closed when the stream is complete through that time."""
    return through if through == END else max(through - gap, BEGIN)
