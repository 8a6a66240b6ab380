"""More expressways out of few: each replica has vehicles, expressways and request ids of its own.

A rating at a large L would need days of simulation. Replicas keep what makes the load real (every tuple is a tuple,
every vehicle has an account of its own) and are said to be replicas wherever a result is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from arterial.arrays import Array
from arterial.errors import ArterialError
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.formats.events import UNUSED


@dataclass(frozen=True)
class Replication:
    """How often the data is repeated, and how far apart the numbers of two replicas are.

    >>> twice = Replication(times=2, vid_step=1000, xway_step=1, qid_step=500)
    >>> twice.together({name: np.array([value]) for name, value in (("vid", 7), ("xway", 0), ("qid", UNUSED))})
    {'vid': array([   7, 1007]), 'xway': array([0, 1]), 'qid': array([-1, -1])}
    """

    times: int
    vid_step: int
    xway_step: int
    qid_step: int

    @classmethod
    def of(cls, data: Data, times: int) -> Replication:
        """Steps that keep the replicas of this data apart."""
        if times < 1:
            raise ArterialError(f"--replicate must be 1 or more, got {times}")
        numbers = pl.scan_parquet(list(data.parquet_files.values())).select(pl.col("vid", "xway", "qid").max())
        highest = {name: value or 0 for name, value in numbers.collect().row(0, named=True).items()}
        # Round numbers, so that a person can see in an answer which replica it belongs to.
        vid_step, qid_step = (_next_power_of_ten(highest[name]) for name in ("vid", "qid"))
        return cls(times, vid_step, highest["xway"] + 1, qid_step)

    def events(self, events: pa.Table, replicas: Iterable[int] | None = None) -> pa.Table:
        """The events of the given replicas (all by default), replica after replica."""
        pieces = [self._shifted(events, r) for r in (range(self.times) if replicas is None else replicas)]
        return pa.concat_tables(pieces) if pieces else events.slice(0, 0)

    def together(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """The events in these columns, each followed by its replicas."""
        rows = next(iter(columns.values())).size
        replica = np.tile(np.arange(self.times), rows)
        repeated = {name: np.repeat(values, self.times) for name, values in columns.items()}
        for name, step in self._steps:
            values = repeated[name]
            moved = values + (replica * step).astype(values.dtype)
            repeated[name] = moved if name == "vid" else np.where(values == UNUSED, values, moved)
        return repeated

    @property
    def _steps(self) -> tuple[tuple[str, int], ...]:
        return ("vid", self.vid_step), ("xway", self.xway_step), ("qid", self.qid_step)

    def _shifted(self, events: pa.Table, replica: int) -> pa.Table:
        if replica == 0:
            return events
        for name, step in self._steps:
            place = events.schema.get_field_index(name)
            field = events.schema.field(place)
            column = events.column(place)
            moved = pc.add(column, pa.scalar(replica * step, field.type))
            events = events.set_column(
                place, field, moved if name == "vid" else pc.if_else(pc.equal(column, UNUSED), column, moved)
            )
        return events


def _next_power_of_ten(highest: int) -> int:
    step = 10
    while step <= highest:
        step *= 10
    return step
