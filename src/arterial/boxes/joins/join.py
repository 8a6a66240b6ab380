"""Join: pairs tuples of two streams whose distance in time is within a bound (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import Held, instants, require_in_step
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import reads
from arterial.network.expression.vectorised import truth
from arterial.network.schema import Field, Schema
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

LEFT = "left"
RIGHT = "right"


@dataclass(frozen=True)
class Join(Box):
    """Pairs tuples of two streams that are near in time (Aurora §2.1).

    Every left and right tuple of the same group that are at most `within` apart make a pair, if `on` is true for them
    (null is not true). With `after`, the right one may come at most that much after the left one. A pair has the left
    columns, then the right ones beside the group's, with `right_` before a name that both have, and the later of both
    times in a column of its own.

    - Pairs of one time come in the order of the left tuples, then of the right ones.
    - Both streams are grouped by the same columns, or not at all. Null is a group.
    - It waits until both streams are complete, and keeps the tuples of the last `within`; of the left stream, those of
      the last `after`.

    Parameters:
        within: the largest distance in time of a pair.
        on: a predicate over `left.x` and `right.y`; None: every pair near in time.
        time: the name of the column for the time of the pair.
        after: how much later than the left tuple the right one may be; None: `within`. With 0, no left tuple is kept.

    >>> from arterial.testing import show
    >>> pairs = lambda s: s.filter("low", "x < 5").join("near", s, within=1, on="right.x > 5")
    >>> show(pairs, time=[1, 2, 9], x=[4, 6, 8])
    time  x  right_time  right_x  joined
       1  4           2        6       2
    """

    within: Duration
    on: str | None = None
    time: str = "joined"
    after: Duration | None = None

    kind: ClassVar[str] = "join"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "use match, the join of what stands on both sides"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def inputs(self) -> tuple[str, ...]:
        """Two streams."""
        return (LEFT, RIGHT)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The columns of both, and the time of the pair."""
        left, right = inputs[LEFT], inputs[RIGHT]
        require_in_step({LEFT: left, RIGHT: right}, "a Join")
        self._bounds(left)
        if self.on is not None:
            predicate(self.on, both_sides(left.schema, right.schema))
        fields = [*left.schema]
        fields += [Field(name, right.schema[old]) for old, name in right_names(left, right)]
        fields.append(Field(self.time, time_field(left.time, left.schema[left.time]).type))
        require_one_of_each(fields, "Join")
        return {OUT: Stream(Schema(tuple(fields)), self.time, True, left.keyed_by)}

    def carries(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """The columns of both sides."""
        return of_both_sides(self.fed_by[LEFT], self.fed_by[RIGHT])

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The pairs whose later tuple is new."""
        left, right = self.fed_by[LEFT], self.fed_by[RIGHT]
        within, after = self._bounds(left)
        through = min(train.through for train in trains.values())
        clock = state.get("clock")
        done = BEGIN if clock is None else int(clock["through"][0])
        state.put("clock", "", {"through": np.array([through])})
        sides = []
        for port, stream, kept in ((LEFT, left, after), (RIGHT, right, within)):
            ready = Held(state, f"{port}.ahead", stream.time).next(trains[port], through)
            past = Held(state, f"{port}.past", stream.time)
            past.take(done - kept if done > BEGIN + kept else BEGIN)
            sides.append(pl.concat([*past.all(), ready]))
            if through != END:
                past.add(ready)
        made = self._pairs(sides[0], sides[1], left, right, (within, after), done)
        return {OUT: Train(made, through)}

    def _pairs(
        self, left: pl.DataFrame, right: pl.DataFrame, a: Stream, b: Stream, reach: tuple[int, int], done: int
    ) -> pl.DataFrame:
        slots, count = slots_of(codes([pl.concat([left[k], right[k]]) for k in a.keyed_by], left.height + right.height))
        of_left, of_right = slots[: left.height], slots[left.height :]
        left_times, right_times = instants(left, a.time), instants(right, b.time)
        within, after = reach
        lows = left_times - within
        lows = np.where(left_times <= done, np.maximum(lows, done + 1), lows)  # two old tuples were paired before
        ends = kernels.bounds(of_right, count)
        order = kernels.sort_by_slot(of_right, ends)  # they come in the order of time
        begin, end = kernels.ranges(of_left, lows, left_times + after, ends, right_times[order])
        sizes = np.maximum(end - begin, 0)
        i = np.repeat(np.arange(left.height), sizes)
        offset = np.arange(len(i)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        j = order[begin[i] + offset]
        times = np.maximum(left_times[i], right_times[j])
        if self.on is not None:
            i, j, times = self._satisfying(left, right, i, j, times)
        sorted_pairs = np.lexsort((j, i, times))
        i, j, times = i[sorted_pairs], j[sorted_pairs], times[sorted_pairs]
        kind = time_field(a.time, a.schema[a.time]).type.polars
        pairs = left[i]
        names = right_names(a, b)
        others = right.select(pl.col(old).alias(new) for old, new in names)[j] if names else pl.DataFrame()
        return pairs.hstack(others).with_columns(pl.Series(self.time, times, dtype=pl.Int64).cast(kind))

    def _bounds(self, left: Stream) -> tuple[int, int]:
        """How far back and how far ahead of a left tuple its right ones are."""
        kind = left.schema[left.time]
        within = units(self.within, kind, "within", least=0)
        return within, within if self.after is None else units(self.after, kind, "after", least=0)

    def _satisfying(
        self, left: pl.DataFrame, right: pl.DataFrame, i: Array, j: Array, times: Array
    ) -> tuple[Array, Array, Array]:
        assert self.on is not None
        tree = predicate(self.on, both_sides(self.fed_by[LEFT].schema, self.fed_by[RIGHT].schema))
        columns = {}
        for name in reads(tree):
            side, _, column = name.partition(".")
            columns[name] = left[column].gather(i) if side == LEFT else right[column].gather(j)
        true = truth(pl.DataFrame(columns), tree, len(i)).to_numpy()
        return i[true], j[true], times[true]


def require_one_of_each(fields: Sequence[Field], box: str) -> None:
    """Refuse a pair that would have two columns of one name."""
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise NetworkError(f"the pair would have two columns {name!r}; rename one in a Map before the {box}")


def both_sides(left: Schema, right: Schema) -> Schema:
    """The columns that the predicate of a Join can read."""
    sides = ((LEFT, left), (RIGHT, right))
    return Schema(tuple(Field(f"{side}.{field.name}", field.type) for side, schema in sides for field in schema))


def of_both_sides(left: Stream, right: Stream) -> dict[str, tuple[tuple[str, str], ...]]:
    """The columns of a pair, with the input and the column that each comes from."""
    found: dict[str, tuple[tuple[str, str], ...]] = {name: ((LEFT, name),) for name in left.schema.names}
    return found | {new: ((RIGHT, old),) for old, new in right_names(left, right)}


def right_names(left: Stream, right: Stream) -> list[tuple[str, str]]:
    """The right stream's columns that a pair has, and what they are called there."""
    return [
        (name, f"right_{name}" if name in left.schema else name)
        for name in right.schema.names
        if name not in left.keyed_by
    ]
