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
    """The first row of each kept instant, and its time; both go up."""

    rows: int = 0
    _begins: list[Array] = field(default_factory=list)
    _times: list[Array] = field(default_factory=list)
    _last: int = BEGIN

    @property
    def begins(self) -> Array:
        """The rows at which instants begin, and the number of all rows as the last."""
        self._begins = [np.concatenate([*self._begins, np.empty(0, np.int64)])]
        return np.append(self._begins[0], self.rows)

    @property
    def times(self) -> Array:
        """The instants."""
        self._times = [np.concatenate([*self._times, np.empty(0, np.int64)])]
        return self._times[0]

    def add(self, times: Array) -> None:
        """The times of the next rows."""
        if not len(times):
            return
        starts = np.flatnonzero(
            np.diff(times, prepend=self._last) if self.rows else np.diff(times, prepend=times[0] - 1)
        )
        if len(starts) > MOST:
            wanted = np.linspace(starts[0], starts[-1], MOST).astype(np.int64)
            starts = starts[np.unique(np.searchsorted(starts, wanted))]
        self._begins.append(starts + self.rows)
        self._times.append(times[starts].astype(np.int64))
        self.rows += len(times)
        self._last = int(times[-1])
