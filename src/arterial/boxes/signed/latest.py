"""Latest: a stream of reports as a relation, the latest report of each object, as its changes (GPAC §3, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, SIGN, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.tree import known_column
from arterial.network.schema import Schema
from arterial.network.signed import lifted, row_columns
from arterial.network.state import State
from arterial.network.train import END, Train

_ALIVE, _CAME = "@alive", "@came"


@dataclass(frozen=True)
class Latest(Box):
    """Turns a stream of reports into a relation: the latest report of each key, as a signed stream (GPAC §3, §5).

    A new report takes the place of the old one: the old row goes (-1) and the new one comes (1). A row is all columns
    but the time; a report equal to the one before changes nothing. This is what a query in SQL means by the name of a
    stream.

    - What counts is the end of each instant: of several tuples of a key at one instant, the last.
    - Changes of one instant come in the order of the keys; of one key, what goes before what comes.
    - Grouped by columns of the key, it runs in every shard.

    Parameters:
        key: the columns that say whose report it is.
        timeout: a key is gone when so much time has passed without a report; None: it stays. At the end of the stream
            all time passes, so with a timeout all keys go. An integer time then leaves as int64, for the instant at
            which a key goes may not fit into less.

    >>> from arterial.testing import show
    >>> show(lambda s: s.latest("now", "car"), time=[1, 2], car=[7, 7], x=[4, 9])
    time  car  x  sign
       1    7  4     1
       2    7  4    -1
       2    7  9     1
    """

    key: tuple[str, ...]
    timeout: Duration | None = None

    kind: ClassVar[str] = "latest"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "it says already what stands"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The same columns, with a sign."""
        stream = inputs[IN]
        require_order(stream)
        if not set(stream.keyed_by) <= set(self.key):
            raise NetworkError(
                f"the input is grouped by ({', '.join(stream.keyed_by)}), which must be part of the key; "
                "put group_by() without columns before it"
            )
        if not self.key:
            raise NetworkError("expected the columns that say whose tuple it is, got none")
        for name in self.key:
            known_column(name, stream.schema.names)
            if name == stream.time:
                raise NetworkError(f"the key cannot be the time {name!r}")
        self._timeout(stream)
        return {OUT: self._out(stream)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The changes at every instant of the train."""
        stream, train = self.fed_by[IN], trains[IN]
        out = self._out(stream).schema
        if not len(train) and self.timeout is None:
            return {OUT: Train(out.empty(), train.through)}
        schema = {**stream.schema.polars(), _ALIVE: pl.Int8()}
        table = KeyedTable(state, "latest", schema, self.key, _ALIVE)
        known = table.read().select(list(schema))
        came = train.tuples.unique(subset=[*self.key, stream.time], keep="last", maintain_order=True)
        rows = pl.concat(
            [
                known.with_columns(pl.lit(False).alias(_CAME)),
                came.with_columns(pl.lit(1, pl.Int8).alias(_ALIVE), pl.lit(True).alias(_CAME)),
            ]
        ).sort(*self.key, stream.time, maintain_order=True, nulls_last=False)
        lives = self._lives(rows, train.through, stream)
        last = rows.filter(pl.Series(~lives.followed))
        gone = pl.Series(lives.silent[~lives.followed])
        kept = last.with_columns((~gone).cast(pl.Int8).alias(_ALIVE)).drop(_CAME)
        table.write(kept.filter(~gone), kept.filter(last[_CAME] | gone))
        return {OUT: Train(self._changes(rows, lives, stream).select(out.names), train.through)}

    def _out(self, stream: Stream) -> Stream:
        if self.timeout is None:
            return lifted(stream)
        wide = time_field(stream.time, stream.schema[stream.time])
        fields = tuple(wide if field.name == stream.time else field for field in stream.schema)
        return lifted(replace(stream, schema=Schema(fields)))

    def _timeout(self, stream: Stream) -> int | None:
        return None if self.timeout is None else units(self.timeout, stream.schema[stream.time], "timeout", least=1)

    def _lives(self, rows: pl.DataFrame, through: int, stream: Stream) -> _Lives:
        """What becomes of each row; rows are in the order of key and time."""
        times = instants(rows, stream.time)
        key = rows.select(pl.struct(self.key).rle_id().alias("key"))["key"].to_numpy()
        followed = np.append(key[1:] == key[:-1], False)[: len(key)]
        next_times = np.append(times[1:], 0)[: len(key)]
        silent, ends = np.zeros(len(times), bool), next_times
        timeout = self._timeout(stream)
        if timeout is not None:
            over = times + np.minimum(timeout, END - np.maximum(times, 0))
            silent = (over <= through) & (~followed | (over < next_times))
            ends = np.where(silent, over, next_times)
        alike = (pl.col(name).eq_missing(pl.col(name).shift(-1)) for name in row_columns(stream))
        equal = rows.select(pl.all_horizontal(alike).alias("equal"))["equal"].to_numpy()
        return _Lives(followed, silent, ends, followed & ~silent & equal)

    def _changes(self, rows: pl.DataFrame, lives: _Lives, stream: Stream) -> pl.DataFrame:
        times = instants(rows, stream.time)
        goes = lives.silent | (lives.followed & ~lives.goes_on)
        comes = rows[_CAME].to_numpy() & ~np.append(False, lives.goes_on)[: len(times)]
        kind = self._out(stream).schema[stream.time].polars
        parts = [
            rows.filter(pl.Series(which)).with_columns(
                pl.Series(stream.time, at[which], dtype=pl.Int64).cast(kind), pl.lit(sign, pl.Int8).alias(SIGN)
            )
            for which, at, sign in ((goes, lives.ends, -1), (comes, times, 1))
        ]
        return pl.concat(parts).sort(stream.time, *self.key, SIGN, maintain_order=True, nulls_last=False)


@dataclass(frozen=True)
class _Lives:
    """For each row, whether another of its key follows it, whether its key falls silent before that, when it is over in
    either way, and whether the one that follows is the same row.
    """

    followed: Array
    silent: Array
    ends: Array
    goes_on: Array
