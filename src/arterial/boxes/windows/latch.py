"""Latch: like Tumble, but its state goes on from window to window, over a group's lifetime (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts import kernels
from arterial.boxes.parts.order import instants
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import SIZE, WINDOW, accumulator_schema
from arterial.boxes.parts.windows.cut import check_window, closed_windows, no_windows, window_plan, window_stream
from arterial.boxes.parts.windows.running import latest, run
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.duration import Duration
from arterial.network.expression.aggregate import HOLISTIC, Values
from arterial.network.state import State
from arterial.network.train import BEGIN, Train


@dataclass(frozen=True)
class Latch(Box):
    """Computes values over all tuples of a group so far, after each window that has some (Aurora §2.1).

    Like `Tumble`, but its values continue from window to window, over the lifetime of the group. Windows, and the time
    that a result gets, are those of `Tumble`. `count(distinct …)`, percentiles, functions and `window_start()` work on
    one window, and are refused.

    Parameters:
        values: pairs of a name and an expression over aggregates, as in `Tumble`.
        every: the length of a window in time; or
        size: the number of tuples of a window (1: a result after each tuple).

    >>> from arterial.testing import show
    >>> show(lambda s: s.latch("record", every=10, top="max(x)", n="count(*)"), time=[1, 5, 11], x=[4, 9, 5])
    time  top  n
       9    9  2
      19    9  3
    """

    values: Values
    every: Duration | None = None
    size: int | None = None

    kind: ClassVar[str] = "latch"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values."""
        stream = inputs[IN]
        check_window(stream, self.every, self.size)
        plan = window_plan(stream, self.values)
        if plan.functions:
            raise NetworkError("a Latch keeps no tuples, so it cannot call functions over them; expected built-in ones")
        for call in plan.calls:
            if call.function in HOLISTIC or call.function in ("window_start", "approx_percentile"):
                raise NetworkError(f"{call.function} is over the tuples of one window; a Latch goes on for ever")
        return {OUT: window_stream(stream, self.values)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """What the groups have come to at the ends of the windows that the train closes."""
        stream, train = self.fed_by[IN], trains[IN]
        length = check_window(stream, self.every, self.size)
        plan = window_plan(stream, self.values)
        keys = stream.keyed_by
        schema = accumulator_schema(plan, stream.schema, keys)
        table = KeyedTable(state, "groups", schema, keys, SIZE)
        # Windows of time end in groups without tuples too.
        known = table.read() if self.size is None else table.known(train.tuples)
        if not len(train) and (self.size is not None or not known.height):
            return {OUT: Train(no_windows(plan, stream), train.through)}
        after, groups, count = run(plan, keys, known, train.tuples)
        times = instants(train.tuples, stream.time)
        windows = times // length if self.size is None else np.zeros(len(times), np.int64)
        after = after.with_columns(pl.Series(WINDOW, windows)).select(list(schema))
        if self.size is not None:
            rows = after.with_columns(pl.Series("@time", times)).filter(pl.col(SIZE) % length == 0)
            made, ends = rows.drop("@time"), rows["@time"].to_numpy()
        else:
            made, ends = _ended(known, after, groups, count, length, train.through, state)
        if len(train):
            changes = latest(known, after, groups, count)
            if self.size is None:
                untouched = known.filter(~pl.Series(np.isin(groups[: known.height], groups[known.height :])))
                table.write(pl.concat([untouched.select(changes.columns), changes]), changes)
            else:
                table.change(changes)
        return {OUT: Train(closed_windows(plan, stream, made, ends, 1), train.through)}


def _ended(
    known: pl.DataFrame,
    after: pl.DataFrame,
    groups: np.ndarray[tuple[int], np.dtype[np.int64]],
    count: int,
    every: int,
    through: int,
    state: State,
) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The accumulators at the end of each window that ended since the last train, and the windows' last instants."""
    clock = state.get("clock")
    done = BEGIN if clock is None else int(clock["through"][0])
    state.put("clock", "", {"through": np.array([through])})
    rows = pl.concat([known.select(after.columns), after])
    ends = (rows[WINDOW].to_numpy() + 1) * every - 1
    following = kernels.next_rows(groups, count)
    last_of_window = (following < 0) | (ends[following] != ends)
    chosen = np.flatnonzero(last_of_window & (ends > done) & (ends <= through))
    chosen = chosen[np.argsort(ends[chosen], kind="stable")]
    return rows[chosen], ends[chosen]
