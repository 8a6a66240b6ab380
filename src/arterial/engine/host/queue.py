"""The queue of an arc that is held (Aurora §4.3): its tuples wait in the state of the slot, the oldest go on first.

It is a log of chunks: appending writes one chunk, taking drops those that are used up, and nothing else is written but
one small chunk that says what is there. On Spark a large chunk is a file, so a long queue lies on the disk by itself.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.network.box import Stream
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

CHUNK_ROWS = 8192
"""Short trains are put together up to this length: a chunk each would make a long list."""

_TUPLES, _LIST = "tuples", "list"


class Queue:
    """The tuples of one arc that wait in one slot."""

    def __init__(self, state: State, stream: Stream) -> None:
        self._state, self._stream = state, stream
        listed = state.get(_LIST)
        if listed is None:
            listed = {"rows": np.empty(0, np.int64), "born": np.empty(0), "first": np.empty(0, np.int64)}
            listed["at"] = np.zeros(2, np.int64)
        assert not isinstance(listed, pl.DataFrame)
        self._rows, self._born, self._first = (listed[name] for name in ("rows", "born", "first"))
        """Of each chunk how many tuples it has, when the oldest of them was read, and the time of its first one."""
        self._number, self._offset = (int(value) for value in listed["at"])
        """The number of the first chunk, and how many of its tuples have gone on."""
        self._changed = False

    def __len__(self) -> int:
        return int(self._rows.sum()) - self._offset

    @property
    def oldest(self) -> float:
        """When the oldest tuple that waits was read, in seconds since 1970; 0 if none waits."""
        return float(self._born[0]) if len(self._born) else 0.0

    def through(self, latest: int) -> int:
        """How far the stream is complete behind the queue; `latest` is how far it is before it."""
        if not len(self):
            return latest
        return int(self._first[0]) - 1 if self._stream.ordered else BEGIN

    def append(self, train: Train, born: float) -> None:
        """Let the tuples of a train wait."""
        if not len(train):
            return
        tuples, last = train.tuples, len(self._rows) - 1
        if last >= 0 and self._rows[last] + tuples.height <= CHUNK_ROWS:
            before = self._chunk(last)
            self._rows = _put(self._rows, last, before.height + tuples.height)
            tuples = pl.concat([before, tuples])
        else:
            last += 1
            self._rows = np.append(self._rows, tuples.height)
            self._born = np.append(self._born, born)
            self._first = np.append(self._first, self._times(tuples)[0])
        self._state.put(_TUPLES, self._key(last), tuples.rechunk())
        self._changed = True

    def take(self, number: int) -> pl.DataFrame:
        """The oldest tuples, about so many: of an ordered stream whole instants, as trains have."""
        taken: list[pl.DataFrame] = []
        while number > 0 and len(self):
            waits = self._chunk(0).slice(self._offset)
            cut = min(number, waits.height)
            if self._stream.ordered:
                times = self._times(waits)
                cut = int(np.searchsorted(times, times[cut - 1], "right"))
            taken.append(waits.head(cut))
            self._go_on(waits, cut)
            number -= cut
        while taken and len(self) and self._stream.ordered and self._first[0] == self._times(taken[-1])[-1]:
            waits = self._chunk(0).slice(self._offset)
            cut = int(np.searchsorted(self._times(waits), self._first[0], "right"))
            taken.append(waits.head(cut))
            self._go_on(waits, cut)
        return pl.concat(taken) if taken else self._stream.schema.empty()

    def save(self) -> None:
        """Write down what is there, if that changed."""
        if not self._changed:
            return
        if len(self):
            at = np.array([self._number, self._offset], np.int64)
            self._state.put(_LIST, "", {"rows": self._rows, "born": self._born, "first": self._first, "at": at})
        else:
            self._state.drop(_LIST)
        self._changed = False

    def _go_on(self, waits: pl.DataFrame, cut: int) -> None:
        """The first tuples of the first chunk have gone on."""
        self._changed = True
        if cut < waits.height:
            self._offset += cut
            self._first = _put(self._first, 0, self._times(waits)[cut])
            return
        self._state.drop(_TUPLES, self._key(0))
        self._rows, self._born, self._first = self._rows[1:], self._born[1:], self._first[1:]
        self._number, self._offset = self._number + 1, 0

    def _chunk(self, place: int) -> pl.DataFrame:
        chunk = self._state.get(_TUPLES, self._key(place))
        assert isinstance(chunk, pl.DataFrame)
        return chunk

    def _key(self, place: int) -> str:
        return f"{self._number + place:012d}"

    def _times(self, tuples: pl.DataFrame) -> Array:
        times: Array = tuples[self._stream.time].to_physical().cast(pl.Int64).fill_null(BEGIN).to_numpy()
        return times


def _put(values: Array, place: int, value: int) -> Array:
    changed = values.copy()
    changed[place] = value
    return changed
