"""Where instants begin in rows that are in the order of their time: what a step may end at."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from arterial.arrays import Array
from arterial.network.train import BEGIN

MOST = 4096
"""So many instants of a piece are kept; if it has more, some of them, evenly spread."""


@dataclass
class Index:
    """The first row of each kept instant, and its time; both go up. What was passed is forgotten.

    Where not all are kept, an instant stands for those up to the next one.
    """

    rows: int = 0
    """How many rows there are in all."""
    begins: Array = field(default_factory=lambda: np.empty(0, np.int64))
    times: Array = field(default_factory=lambda: np.empty(0, np.int64))
    ends: Array = field(default_factory=lambda: np.empty(0, np.int64))
    """The time of the last row before the next kept instant."""
    last: int = BEGIN
    """The time of the last row."""

    def add(self, times: Array) -> None:
        """The times of the next rows."""
        if not len(times):
            return
        starts = np.flatnonzero(np.diff(times, prepend=self.last if self.rows else times[0] - 1))
        if len(starts) > MOST:
            wanted = np.linspace(starts[0], starts[-1], MOST).astype(np.int64)
            starts = starts[np.unique(np.searchsorted(starts, wanted))]
        self.begins = np.concatenate([self.begins, starts + self.rows])
        self.times = np.concatenate([self.times, times[starts].astype(np.int64)])
        if len(starts):
            ends = times[np.append(starts[1:], len(times)) - 1]
            self.ends = np.concatenate([self.ends, ends.astype(np.int64)])
        self.rows += len(times)
        self.last = int(times[-1])

    def row(self, instant: int) -> int:
        """The row at which one of the instants begins, or the end of all."""
        return int(self.begins[instant]) if instant < len(self.begins) else self.rows

    def instant(self, row: int) -> int:
        """Which instant begins at a row."""
        return int(np.searchsorted(self.begins, row))

    def instants_until(self, row: int) -> int:
        """How many instants end before a row or at it."""
        return len(self.begins) if row >= self.rows else int(np.searchsorted(self.begins, row, side="right")) - 1

    def instants_through(self, time: int) -> int:
        """How many instants are not later than a time, nor are those that they stand for."""
        return int(np.searchsorted(self.ends, time, side="right"))

    def forget(self, row: int) -> None:
        """Let go of the instants before a row."""
        passed = self.instant(row)
        self.begins, self.times, self.ends = self.begins[passed:], self.times[passed:], self.ends[passed:]
