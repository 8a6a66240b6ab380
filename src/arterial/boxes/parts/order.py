"""What boxes share about order: checks of ordered streams, instants as numbers, and tuples held until their time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from arterial.errors import NetworkError
from arterial.network.box import Stream
from arterial.network.schema import Type
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

Instants = np.ndarray[Any, np.dtype[np.int64]]


def require_order(stream: Stream, what: str = "input") -> None:
    """Raise unless the stream is in the order of its time."""
    if not stream.ordered:
        raise NetworkError(
            f"expected an {what} in the order of its time {stream.time!r}, got a stream without order; "
            "put a BSort before it"
        )


def require_in_step(streams: dict[str, Stream], what: str) -> None:
    """Raise unless all streams are in the order of their times, and grouped alike."""
    for port, stream in streams.items():
        require_order(stream, f"input {port!r}")
    require_alike(streams, what)


def require_alike(streams: dict[str, Stream], what: str) -> None:
    """Raise unless the streams are grouped by the same columns of the same types."""
    (first_port, first), *others = streams.items()
    for port, other in others:
        if other.keyed_by != first.keyed_by:
            raise NetworkError(
                f"{what} needs inputs grouped alike, got {first_port!r} grouped by ({', '.join(first.keyed_by)}) "
                f"and {port!r} by ({', '.join(other.keyed_by)}); put a GroupBy before one of them"
            )
        for name in first.keyed_by:
            if first.schema[name] is not other.schema[name]:
                raise NetworkError(
                    f"{what} needs groups of one type, got {name!r} as {first.schema[name]} on {first_port!r} "
                    f"and as {other.schema[name]} on {port!r}; cast one of them in a Map"
                )
        same_clock = (first.schema[first.time] is Type.TIMESTAMP) == (other.schema[other.time] is Type.TIMESTAMP)
        if not same_clock:
            raise NetworkError(
                f"{what} needs inputs that count time alike, got {first.schema[first.time]} on {first_port!r} "
                f"and {other.schema[other.time]} on {port!r}"
            )


def require_time(schema: Any, time: str) -> None:
    """Raise unless the column can be the time of a stream."""
    kind = schema[time]
    if not (kind.is_integer or kind is Type.TIMESTAMP):
        raise NetworkError(f"the time column {time!r} must be an integer (seconds) or a timestamp, got {kind}")


def instants(tuples: pl.DataFrame, time: str) -> Instants:
    """The times of the tuples as whole numbers."""
    return tuples[time].cast(pl.Int64).to_numpy()


def unordered_through(through: int) -> int:
    """The `through` of a stream without order: it says only whether the stream has ended."""
    return END if through == END else BEGIN


class Held:
    """Tuples that wait, in the order in which they came, in chunks of which a train touches few.

    A new chunk swallows smaller ones before it, so their number stays logarithmic and each tuple is rewritten rarely.
    """

    def __init__(self, state: State, table: str, time: str) -> None:
        self.state = state
        self.table = table
        self.time = time

    def add(self, tuples: pl.DataFrame) -> None:
        """Hold these too, behind all others."""
        if not tuples.height:
            return
        keys = self.state.keys(self.table)
        parts = [tuples]
        size = tuples.height
        while keys and (last := self._chunk(keys[-1])).height <= 2 * size:
            parts.insert(0, last)
            size += last.height
            self.state.drop(self.table, keys.pop())
        serial = int(keys[-1]) + 1 if keys else 0
        self.state.put(self.table, f"{serial:012d}", pl.concat(parts))

    def all(self) -> list[pl.DataFrame]:
        """Everything that is held, in the order in which it came."""
        return [self._chunk(key) for key in self.state.keys(self.table)]

    def take(self, through: int) -> list[pl.DataFrame]:
        """Hold no longer the tuples up to that time, and give them."""
        taken = []
        for key in self.state.keys(self.table):
            chunk = self._chunk(key)
            ready = instants(chunk, self.time) <= through
            if ready.all():
                taken.append(chunk)
                self.state.drop(self.table, key)
            elif ready.any():
                mask = pl.Series(ready)
                taken.append(chunk.filter(mask))
                self.state.put(self.table, key, chunk.filter(~mask))
        return taken

    def next(self, train: Train, through: int) -> pl.DataFrame:
        """Of what is held and the train that came, the tuples up to `through`; the rest is held.

        The tuples of the train come in order of time.
        """
        ready = self.take(through)
        tuples = train.tuples
        if train.through > through:
            cut = int(np.searchsorted(instants(tuples, self.time), through, side="right"))
            self.add(tuples.slice(cut))
            tuples = tuples.slice(0, cut)
        if not ready:
            return tuples
        return pl.concat([*ready, tuples])

    def _chunk(self, key: str) -> pl.DataFrame:
        chunk = self.state.get(self.table, key)
        assert isinstance(chunk, pl.DataFrame)
        return chunk
