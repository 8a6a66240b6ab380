"""Position reports as they were recorded, and the replicas that are wanted of each.

A replica costs a copy in memory, and no reading. Reports are handed on a few seconds at a time, so that what one box
gives is still in the processor's cache when the next takes it: memory that is touched for the first time costs several
times the work on it (decision 19).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base.compiled import column
from arterial.linearroad.application.kernels.base.reports import REPORT_DTYPES
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.formats.events import POSITION_REPORT

Road = tuple[int, int]
"""An expressway and a direction."""

FEW = 200_000
"""With more reports at once the boxes' columns no longer fit in cache; with fewer, a box's own cost counts."""


@dataclass(frozen=True)
class Originals:
    """Reports in the order of time, each with the number of its road; for each road, the replicas of it."""

    columns: Mapping[str, Array]
    road: Array
    replicas: Sequence[Array]

    @classmethod
    def read(cls, data: Data, start: int, stop: int, roads: Mapping[Road, Sequence[int]]) -> Originals:
        """The reports of some roads in the seconds [start, stop)."""
        pieces = [_reports_of(data, start, stop, road) for road in roads] if start < stop else []
        if not pieces:
            return cls({name: np.empty(0, dtype) for name, dtype in REPORT_DTYPES.items()}, np.empty(0, np.int64), ())
        replicas = [np.array(numbers, np.int64) for numbers in roads.values()]
        road = np.repeat(np.arange(len(pieces)), [piece["time"].size for piece in pieces])
        if len(pieces) == 1:
            return cls(pieces[0], road, replicas)
        columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in REPORT_DTYPES}
        # Sixteen bits are sorted by radix, in a fraction of the time.
        offset = columns["time"] - start
        order = np.argsort(offset.astype(np.uint16) if stop - start <= 2**16 else offset, kind="stable")
        return cls({name: values[order] for name, values in columns.items()}, road[order], replicas)

    def few_at_a_time(self) -> Iterator[Originals]:
        """Those of whole seconds, few with all their replicas; where there are none, those once."""
        time = self.columns["time"]
        before = np.concatenate([[0], np.cumsum(self._times[self.road])])
        start = 0
        while start < time.size:
            # The second that would be one too many, but for the first.
            over = min(int(np.searchsorted(before, before[start] + FEW, side="right")) - 1, time.size)
            second = time[over] if over < time.size else time[-1] + 1
            stop = int(np.searchsorted(time, max(second, time[start] + 1)))
            rows = slice(start, stop)
            yield Originals(
                {name: values[rows] for name, values in self.columns.items()}, self.road[rows], self.replicas
            )
            start = stop
        if time.size == 0:
            yield self

    def repeated(self, replication: Replication) -> Mapping[str, Array]:
        """Each report once for every replica of its road, with the replica's numbers.

        A second's reports of a replica stay together, as those of an expressway are in data that is not replicated.
        """
        if replication.times == 1:
            return self.columns
        many = int(self._times[self.road].sum())
        repeated = {name: np.empty(many, values.dtype) for name, values in self.columns.items()}
        steps = {"vid": replication.vid_step, "xway": replication.xway_step}
        at = 0
        for rows in self._blocks():
            replicas = self.replicas[self.road[rows.start]]
            shape = (replicas.size, rows.stop - rows.start)
            for name, values in repeated.items():
                block = values[at : at + shape[0] * shape[1]].reshape(shape)
                block[:] = self.columns[name][rows]
                if name in steps:
                    block += (replicas * steps[name]).astype(values.dtype)[:, np.newaxis]
            at += shape[0] * shape[1]
        return repeated

    def _blocks(self) -> Iterator[slice]:
        """The rows of each road in each second."""
        changes = (np.diff(self.columns["time"]) != 0) | (np.diff(self.road) != 0)
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), self.road.size]
        return (slice(start, stop) for start, stop in pairwise(edges) if start < stop)

    @property
    def _times(self) -> Array:
        return np.array([replicas.size for replicas in self.replicas], np.int64)


def _reports_of(data: Data, start: int, stop: int, road: Road) -> dict[str, Array]:
    """The position reports of one direction of an expressway, in some seconds."""
    xway, direction = road
    events = data.read(start, stop, [xway])
    wanted = (events["type"].to_numpy() == POSITION_REPORT) & (events["dir"].to_numpy() == direction)
    return {name: column(events[name].to_numpy()[wanted], dtype) for name, dtype in REPORT_DTYPES.items()}
