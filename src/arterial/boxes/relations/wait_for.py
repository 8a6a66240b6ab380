"""WaitFor: delays a stream until a predicate over another stream, or over a relation, is fulfilled (thesis §5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import Held, instants, require_in_step, unordered_through
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import Tree, reads
from arterial.network.expression.vectorised import truth
from arterial.network.schema import Field, Schema
from arterial.network.state import State
from arterial.network.train import END, Train

UNTIL = "until"
UNMET = "unmet"
PAIRS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class WaitFor(Box):
    """Delays each tuple until a predicate over another stream, or over a relation, is fulfilled (thesis §5.3).

    - Each tuple is held until the predicate is true for it and the latest tuple on `until` of its group. What counts at
      an instant is the last tuple there up to and including it; before the first there is none, and every tuple waits.
    - Tuples released at one instant keep their order.
    - What still waits when the streams end leaves by `unmet`.

    Parameters:
        predicate: an expression over the columns of the tuple, and those of the other stream as `until.x`.
        time: the name of a column for the instant of release, which is the time of the output: the tuple's own time if
            it need not wait.

    >>> from arterial.testing import show
    >>> released = lambda s: s.filter("low", "x < 5").wait_for("wait", "until.x > 7", s)
    >>> show(released, time=[1, 2, 6], x=[4, 3, 8])
    time  x  released
       1  4         6
       2  3         6
    """

    predicate: str
    time: str = "released"

    kind: ClassVar[str] = "wait_for"
    splits_by_group: ClassVar[bool] = True
    numbered: ClassVar[Mapping[str, str]] = MappingProxyType({"waiting": "@serial", "serial": "next"})
    instead: ClassVar[str] = "wait before the box that makes the signs"
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The stream, and what it waits for."""
        return (IN, UNTIL)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tuples when they may go on, and at the end those that never may."""
        return (OUT, UNMET)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input and the time of release."""
        stream, until = inputs[IN], inputs[UNTIL]
        require_in_step({IN: stream, UNTIL: until}, "a WaitFor")
        predicate(self.predicate, _seen(stream.schema, until.schema))
        if self.time in stream.schema:
            raise NetworkError(f"the stream has a column {self.time!r} already; give the time of release another name")
        released = Field(self.time, time_field(stream.time, stream.schema[stream.time]).type)
        schema = Schema((*stream.schema.fields, released))
        return {
            OUT: Stream(schema, self.time, True, stream.keyed_by),
            UNMET: Stream(stream.schema, stream.time, False, stream.keyed_by),
        }

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The tuples released by the instants that both inputs have completed."""
        stream, until = self.fed_by[IN], self.fed_by[UNTIL]
        through = min(train.through for train in trains.values())
        tuples = Held(state, "in.ahead", stream.time).next(trains[IN], through)
        others = Held(state, "until.ahead", until.time).next(trains[UNTIL], through)
        kind = time_field(stream.time, stream.schema[stream.time]).type.polars
        if not tuples.height and not others.height and through != END:
            nothing = tuples.with_columns(pl.lit(None, dtype=kind).alias(self.time))
            return {OUT: Train(nothing, through), UNMET: Train(tuples, unordered_through(through))}
        waiting = KeyedTable(state, "waiting", stream.schema.polars() | _SERIAL, ("@serial",), "@alive")
        latest = KeyedTable(state, "latest", until.schema.polars() | _ALIVE, until.keyed_by, "@alive")
        old, known = waiting.read(), latest.read()
        first = _next_serial(state, tuples.height)
        serial = pl.Series("@serial", np.arange(first, first + tuples.height), dtype=pl.Int64)
        new = tuples.with_columns(serial, pl.lit(1, pl.Int8).alias("@alive"))
        everyone = pl.concat([old, new])

        versions = pl.concat([known, others.with_columns(pl.lit(1, pl.Int8).alias("@alive"))])
        release, latest_rows = self._releases(everyone, old.height, versions, known.height)
        rows = versions[latest_rows]
        latest.write(rows, rows.filter(pl.Series(latest_rows >= known.height)))
        free = release < END
        order = np.flatnonzero(free)
        order = order[np.argsort(release[order], kind="stable")]
        out = everyone[order].select(stream.schema.names)
        out = out.with_columns(pl.Series(self.time, release[order], dtype=pl.Int64).cast(kind))
        still = everyone.filter(pl.Series(~free))
        unmet = still.select(stream.schema.names) if through == END else tuples.clear()
        if everyone.height:
            gone = old.filter(pl.Series(free[: old.height])).with_columns(pl.lit(0, pl.Int8).alias("@alive"))
            waiting.write(still, pl.concat([gone, new.filter(pl.Series(~free[old.height :]))]))
        return {OUT: Train(out, through), UNMET: Train(unmet, unordered_through(through))}

    def _releases(self, tuples: pl.DataFrame, waited: int, versions: pl.DataFrame, known: int) -> tuple[Array, Array]:
        """The instant of release of each tuple, `END` if none yet; and the rows of the latest versions."""
        stream, until = self.fed_by[IN], self.fed_by[UNTIL]
        keys = stream.keyed_by
        slots, count = slots_of(
            codes([pl.concat([tuples[k], versions[k]]) for k in keys], tuples.height + versions.height)
        )
        of_tuples, of_versions = slots[: tuples.height], slots[tuples.height :]
        since = instants(versions, until.time)
        following = kernels.next_rows(of_versions, count)
        counts_here = np.flatnonzero((following < 0) | (since[following] != since))  # the last of its instant
        latest_rows = np.flatnonzero(following < 0)
        ends = kernels.bounds(of_versions[counts_here], count)
        order = counts_here[kernels.sort_by_slot(of_versions[counts_here], ends)]  # they come in the order of time
        since = since[order]
        times = instants(tuples, stream.time)
        begin, end = ends[of_tuples], ends[of_tuples + 1]
        # A tuple that came now begins with the version of its instant, one that waited with the first that is new.
        __, upto = kernels.ranges(of_tuples, times, times, ends, since)
        fresh = np.zeros(len(order) + 1, np.int64)
        fresh[:-1] = order < known
        skip = begin + np.where(begin < end, fresh[np.minimum(begin, len(order))], 0)
        begin = np.where(np.arange(tuples.height) < waited, skip, np.maximum(upto - 1, begin))
        release = np.full(tuples.height, END, np.int64)
        tree = predicate(self.predicate, _seen(stream.schema, until.schema))
        for low, high in _blocks(np.maximum(end - begin, 0)):
            sizes = np.maximum(end[low:high] - begin[low:high], 0)
            i = np.repeat(np.arange(low, high), sizes)
            j = begin[i] + np.arange(len(i)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            true = _holds(tree, tuples, versions, i, order[j])
            np.minimum.at(release, i[true], np.maximum(times[i[true]], since[j[true]]))
        return release, latest_rows


_ALIVE: dict[str, pl.DataType] = {"@alive": pl.Int8()}
_SERIAL: dict[str, pl.DataType] = {"@serial": pl.Int64(), "@alive": pl.Int8()}


def _seen(stream: Schema, until: Schema) -> Schema:
    return Schema((*stream.fields, *(Field(f"{UNTIL}.{field.name}", field.type) for field in until)))


def _holds(tree: Tree, tuples: pl.DataFrame, versions: pl.DataFrame, i: Array, j: Array) -> Array:
    columns = {
        name: versions[name.removeprefix(f"{UNTIL}.")].gather(j)
        if name.startswith(f"{UNTIL}.")
        else tuples[name].gather(i)
        for name in reads(tree)
    }
    return truth(pl.DataFrame(columns), tree, len(i)).to_numpy()


def _blocks(sizes: Array) -> list[tuple[int, int]]:
    """Ranges of rows with a bounded number of pairs each (a row's own pairs stay together)."""
    if not len(sizes):
        return []
    blocks = np.cumsum(sizes) // PAIRS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(sizes)]
    return list(pairwise(cuts))


def _next_serial(state: State, count: int) -> int:
    known = state.get("serial")
    first = 0 if known is None else int(known["next"][0])
    if count:
        state.put("serial", "", {"next": np.array([first + count])})
    return first
