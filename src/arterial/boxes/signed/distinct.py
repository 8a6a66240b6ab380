"""Distinct: each row once, however often it stands (GPAC §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.groups import codes, slots_of, touched
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.signed import as_time, in_order_of_telling, last_of_runs, running, weights
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.expression.tree import known_column
from arterial.network.schema import Schema
from arterial.network.signed import lifted, require_rows_only, row_columns
from arterial.network.state import State
from arterial.network.train import Train

_N = "@n"


@dataclass(frozen=True)
class Distinct(Box):
    """Reports each row that stands once, however often it stands (GPAC §5).

    A row comes (1) when it stands for the first time, and goes (-1) with its last copy. What counts is the end of each
    instant. On a stream without signs nothing goes. Null is a value like any other.

    Parameters:
        by: the columns that make a row, which leave with the time and the sign; None: all but the time and the sign.
            The columns that the stream is grouped by must be among them.

    >>> from arterial.testing import show
    >>> show(lambda s: s.distinct("kinds", by=["kind"]), time=[1, 2, 3], kind=["car", "car", "truck"])
    time   kind  sign
       1    car     1
       3  truck     1
    """

    by: tuple[str, ...] | None = None

    kind: ClassVar[str] = "distinct"
    splits_by_group: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The rows, with a sign."""
        stream = inputs[IN]
        require_order(stream)
        rows = self._rows(stream)
        for name in rows:
            known_column(name, stream.schema.names)
        if stream.time in rows:
            raise NetworkError(f"the time {stream.time!r} is that of the changes, and no part of a row")
        require_rows_only(stream, rows, "a row")
        if not rows:
            raise NetworkError("a row needs at least one column beside the time")
        require_group_in(stream, rows, "the rows")
        kept = (*rows, stream.time, *([SIGN] if stream.signed else []))
        schema = Schema(tuple(field for field in stream.schema if field.name in kept))
        return {OUT: lifted(replace(stream, schema=schema))}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The rows that stand for the first time, or no more, at the end of an instant."""
        stream, train = self.fed_by[IN], trains[IN]
        out = self.streams(self.fed_by)[OUT]
        if not len(train):
            return {OUT: Train(out.schema.empty(), train.through)}
        rows = self._rows(stream)
        kinds = stream.schema.polars()
        table = KeyedTable(state, "rows", {name: kinds[name] for name in rows} | {_N: pl.Int64()}, rows, _N)
        known = table.read()
        everyone = pl.concat([known.select(rows), train.tuples.select(rows)])
        slots, count = slots_of(codes([everyone[name] for name in rows], everyone.height), known.height)
        first = np.empty(count, np.int64)
        first[slots[::-1]] = np.arange(len(slots))[::-1]
        begin = np.zeros(count, np.int64)
        begin[: known.height] = known[_N].to_numpy()
        of_tuple, times = slots[known.height :], instants(train.tuples, stream.time)
        order = np.lexsort((times, of_tuple))
        row, moment = of_tuple[order], times[order]
        after = begin[row] + running(weights(train.tuples, stream)[order], row)
        lasting = last_of_runs(row, moment)
        row, moment, after = row[lasting], moment[lasting], after[lasting]
        before = np.where(np.concatenate([[False], row[1:] == row[:-1]]), np.concatenate([[0], after[:-1]]), begin[row])
        changed = np.flatnonzero((after > 0) != (before > 0))
        changes = everyone[first[row[changed]]].with_columns(
            as_time(moment[changed], out).alias(out.time),
            pl.Series(SIGN, np.where(after[changed] > 0, 1, -1), dtype=pl.Int8),
        )
        begin[row] = after  # of a row's instants the last one is written last
        stands = everyone[first].with_columns(pl.Series(_N, begin))
        table.write(stands.filter(pl.col(_N) != 0), stands[touched(of_tuple, count)])
        return {OUT: Train(in_order_of_telling(changes, out), train.through)}

    def _rows(self, stream: Stream) -> tuple[str, ...]:
        return row_columns(stream) if self.by is None else self.by


def require_group_in(stream: Stream, columns: tuple[str, ...], what: str) -> None:
    """Raise unless the columns of the group are among those: what is equal in them must be in one group."""
    for name in stream.keyed_by:
        if name not in columns:
            raise NetworkError(
                f"the stream is grouped by {name!r}, which is not among the columns of {what} ({', '.join(columns)}); "
                "put a GroupBy by some of those before it, or group_by() without columns"
            )
