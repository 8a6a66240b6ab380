"""Latest: the last tuple of each key stands, as a signed stream: reports become a table of what is (GPAC §3, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from arterial.boxes._groups import codes, slots_of
from arterial.boxes._order import instants, require_order
from arterial.boxes._signed import as_time, in_order_of_telling, last_of_runs
from arterial.boxes._table import KeyedTable
from arterial.boxes.distinct import require_group_in
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression import predicate
from arterial.network.signed import lifted, row_columns
from arterial.network.state import State
from arterial.network.train import END, Train
from arterial.network.tree import known_column
from arterial.network.vectorised import truth

Array = np.ndarray[Any, Any]
_LAST, _ALIVE = "@last", "@alive"


@dataclass(frozen=True)
class Latest(Box):
    """At the end of each instant the last tuple of every key `by` stands; where it is another row, the old one goes.

    A tuple for which `delete` is true removes what stands of its key. A key that is silent for `timeout` goes at the
    instant at which that time has passed.
    """

    by: tuple[str, ...]
    timeout: Duration | None = None
    delete: str | None = None

    kind: ClassVar[str] = "latest"
    instead: ClassVar[str] = "it says already what stands"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input with a sign."""
        stream = inputs[IN]
        require_order(stream)
        for name in self.by:
            known_column(name, stream.schema.names)
        if not self.by or stream.time in self.by:
            raise NetworkError(f"expected columns that name a thing that reports, other than its time, got {self.by}")
        require_group_in(stream, self.by, "the key")
        if self.delete is not None:
            predicate(self.delete, stream.schema)
        self._silence(stream)
        return {OUT: lifted(stream)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Where another row stands than before."""
        stream, train = self.fed_by[IN], trains[IN]
        out, rows = lifted(stream), row_columns(stream)
        kinds = stream.schema.polars()
        schema = {name: kinds[name] for name in rows} | {_LAST: pl.Int64(), _ALIVE: pl.Int8()}
        table = KeyedTable(state, "rows", schema, self.by, _ALIVE)
        known, silence = table.read(), self._silence(stream)
        if not len(train) and (silence is None or not known.height):
            return {OUT: Train(out.schema.empty(), train.through)}
        told = pl.concat([known.select(rows), train.tuples.select(rows)])
        times = np.concatenate([known[_LAST].to_numpy(), instants(train.tuples, stream.time)])
        gone = np.concatenate([np.zeros(known.height, np.bool_), self._deleted(train.tuples, stream)])
        keys, _ = slots_of(codes([told[name] for name in self.by], told.height), known.height)
        same, _ = slots_of(codes([told[name] for name in rows], told.height), known.height)
        order = np.lexsort((np.arange(len(times)), times, keys))
        order = order[last_of_runs(keys[order], times[order])]

        key, time, row, stands = keys[order], times[order], same[order], ~gone[order]
        follows = np.concatenate([[False], key[1:] == key[:-1]])
        end = np.full(len(order), END) if silence is None else _later(time, silence)
        next_time = np.append(np.where(follows[1:], time[1:], END), END)
        expires = stands & (end < next_time) & (end <= train.through)
        stood = follows & np.concatenate([[False], (stands & ~expires)[:-1]])
        new = order >= known.height
        kept = stood & stands & np.concatenate([[False], row[1:] == row[:-1]])
        plus = np.flatnonzero(new & stands & ~kept)
        minus = np.flatnonzero(new & stood & ~kept)
        silent = np.flatnonzero(expires)
        chosen = order[np.concatenate([minus - 1, silent, plus])]
        moments = np.concatenate([time[minus], end[silent], time[plus]])
        signs = np.repeat([-1, -1, 1], [len(minus), len(silent), len(plus)])
        changes = told[chosen].with_columns(
            as_time(moments, out).alias(out.time), pl.Series(SIGN, signs, dtype=pl.Int8)
        )
        last = np.flatnonzero(np.append(~follows[1:], True)) if len(order) else np.zeros(0, np.int64)
        lasting = told[order[last]].with_columns(
            pl.Series(_LAST, time[last]), pl.Series(_ALIVE, (stands & ~expires)[last], dtype=pl.Int8)
        )
        changed = pl.Series(new[last] | expires[last])
        table.write(lasting.filter(pl.col(_ALIVE) != 0), lasting.filter(changed))
        return {OUT: Train(in_order_of_telling(changes, out), train.through)}

    def _deleted(self, tuples: pl.DataFrame, stream: Stream) -> Array:
        if self.delete is None:
            return np.zeros(tuples.height, np.bool_)
        deleted: Array = truth(tuples, predicate(self.delete, stream.schema)).to_numpy()
        return deleted

    def _silence(self, stream: Stream) -> int | None:
        return None if self.timeout is None else units(self.timeout, stream.schema[stream.time], "timeout")


def _later(times: Array, by: int) -> Array:
    """The times so much later, but not after the end of time."""
    later: Array = times + np.minimum(by, END - np.maximum(times, 0))
    return later
