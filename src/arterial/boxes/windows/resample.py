"""Resample: a partially synthetic stream, with tuples interpolated between actual ones (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import Held, instants, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.tree import known_column
from arterial.network.schema import Field, Schema, Type
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

LINEAR = "linear"
PREVIOUS = "previous"


@dataclass(frozen=True)
class Resample(Box):
    """Makes a partially synthetic stream, with tuples interpolated between actual ones (Aurora §2.1).

    Each group gets a tuple at every multiple of `every` where one can be known.

    - If the group has a tuple at that instant, its values are taken (of several, those of the last).
    - Between two neighbouring tuples at most `within` apart, `linear` columns lie on the line between both (float64;
      null if one of them is null), and `previous` columns are those of the earlier.
    - In a longer gap, before the first and after the last tuple there is nothing.
    - Whether a gap is short enough is known `within` later, so the output is that much behind its input.

    Parameters:
        columns: pairs of a column and how it is interpolated: `linear` or `previous`.
        every: the distance of the new tuples in time.
        within: the longest gap to interpolate over.

    >>> from arterial.testing import show
    >>> show(lambda s: s.resample("seconds", every=1, within=5, x="linear"), time=[1, 3, 9], x=[4, 8, 5])
    time    x
       1  4.0
       2  6.0
       3  8.0
       9  5.0
    """

    columns: tuple[tuple[str, str], ...]
    every: Duration
    within: Duration

    kind: ClassVar[str] = "resample"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "resample before the box that makes the signs"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the resampled columns; linear ones as float64."""
        stream = inputs[IN]
        require_order(stream)
        self._grid(stream)
        fields = [Field(key, stream.schema[key]) for key in stream.keyed_by]
        fields.append(time_field(stream.time, stream.schema[stream.time]))
        for name, method in self.columns:
            kind = stream.schema[known_column(name, stream.schema.names)]
            if name in [field.name for field in fields]:
                raise NetworkError(f"the column {name!r} is of the group, the time, or named twice")
            if method not in (LINEAR, PREVIOUS):
                raise NetworkError(f"the column {name!r} can be {LINEAR!r} or {PREVIOUS!r}, got {method!r}")
            if method == LINEAR and not kind.is_number:
                raise NetworkError(f"the column {name!r} is {kind}; only a number can be {LINEAR!r}, use {PREVIOUS!r}")
            fields.append(Field(name, Type.FLOAT64 if method == LINEAR else kind))
        return {OUT: Stream(Schema(tuple(fields)), stream.time, True, stream.keyed_by)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The tuples on the grid that are known now."""
        stream, train = self.fed_by[IN], trains[IN]
        every, within = self._grid(stream)
        through = train.through if train.through in (BEGIN, END) else max(train.through - within, BEGIN)
        held = Held(state, "made", stream.time)
        if len(train):
            held.add(self._resample(stream, train.tuples, state, every, within))
        ready = held.take(through)
        made = pl.concat(ready) if ready else pl.DataFrame(schema=self.streams(self.fed_by)[OUT].schema.polars())
        return {OUT: Train(made[np.argsort(instants(made, stream.time), kind="stable")], through)}

    def _grid(self, stream: Stream) -> tuple[int, int]:
        kind = stream.schema[stream.time]
        return units(self.every, kind, "every"), units(self.within, kind, "within")

    def _resample(self, stream: Stream, tuples: pl.DataFrame, state: State, every: int, within: int) -> pl.DataFrame:
        keys = stream.keyed_by
        needed = [*keys, stream.time, *(name for name, _ in self.columns)]
        schema = {name: stream.schema[name].polars for name in needed} | {"@alive": pl.Int8()}
        table = KeyedTable(state, "last", schema, keys, "@alive")
        known = table.read()
        rows = pl.concat([known, tuples.select(*needed, pl.lit(1, pl.Int8).alias("@alive"))])
        slots, count = slots_of(codes([rows[key] for key in keys], rows.height))
        times = instants(rows, stream.time)
        following = kernels.next_rows(slots, count)
        replaced = (following >= 0) & (times[following] == times)  # of several at one instant the last counts
        kept = np.flatnonzero(~replaced)
        rows, slots, times = rows[kept], slots[kept], times[kept]
        following = kernels.next_rows(slots, count)
        is_last = following < 0
        table.write(rows.filter(pl.Series(is_last)), rows.filter(pl.Series(is_last & (kept >= known.height))))

        new = kept >= known.height
        exact = np.flatnonzero(new & (times % every == 0))
        left = np.flatnonzero(~is_last & (times[following] - times <= within))
        right = following[left]
        first = times[left] // every + 1
        steps = np.maximum(-(-times[right] // every) - first, 0)
        spread = np.repeat(np.arange(len(left)), steps)
        offset = np.arange(len(spread)) - np.repeat(np.cumsum(steps) - steps, steps)
        grid = (first[spread] + offset) * every
        earlier = np.concatenate([exact, left[spread]])
        later = np.concatenate([exact, right[spread]])
        at = np.concatenate([times[exact], grid])
        return self._interpolated(stream, rows, earlier, later, times, at)

    def _interpolated(
        self, stream: Stream, rows: pl.DataFrame, earlier: Array, later: Array, times: Array, at: Array
    ) -> pl.DataFrame:
        kind = time_field(stream.time, stream.schema[stream.time]).type.polars
        made = {key: rows[key].gather(earlier) for key in stream.keyed_by}
        made[stream.time] = pl.Series(at, dtype=pl.Int64).cast(kind)
        span = times[later] - times[earlier]
        share = pl.Series((at - times[earlier]) / np.maximum(span, 1))
        for name, method in self.columns:
            if method == PREVIOUS:
                made[name] = rows[name].gather(earlier)
            else:
                column = rows[name].cast(pl.Float64)
                begin, end = column.gather(earlier), column.gather(later)
                made[name] = pl.select(
                    pl.when(pl.Series(span > 0)).then(begin + (end - begin) * share).otherwise(begin)
                ).to_series()
        return pl.DataFrame(made)
