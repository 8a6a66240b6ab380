"""GroupBy: partitions a stream into groups with the same values over some columns (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from arterial.boxes.parts.order import require_order
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.expression.tree import known_column
from arterial.network.signed import require_rows_only
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class GroupBy(Box):
    """Lets all that follows work on each group of tuples with equal values in some columns (Aurora §2.1).

    It alone changes how a stream is sharded. Null is a value like any other here. If the stream was one sequence, or
    was grouped by some of the new columns, each group keeps its order. If it was grouped by other columns, tuples of
    one time that meet in a new group had no common order; they are put in the order of their values (column by column,
    null first, NaN last), which is the same in any number of shards.

    Parameters:
        columns: the columns of the group; none: one group of all tuples.

    >>> from arterial.testing import show
    >>> by_car = lambda s: s.group_by("car").tumble("pairs", size=2, top="max(x)")
    >>> show(by_car, time=[1, 2, 3], car=[7, 8, 7], x=[4, 9, 5])
    car  time  top
      7     3    5
    """

    columns: tuple[str, ...]

    kind: ClassVar[str] = "group_by"
    takes_signed: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    regroups: ClassVar[bool] = True
    independent: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input with another key."""
        stream = inputs[IN]
        for i, name in enumerate(self.columns):
            known_column(name, stream.schema.names)
            if name in self.columns[:i]:
                raise NetworkError(f"the column {name!r} is named twice")
        require_rows_only(stream, self.columns, "the group")
        if self._mixes(stream):
            require_order(stream)
        return {OUT: replace(stream, keyed_by=self.columns)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Ties in the order of their values, where they have lost their own."""
        train, stream = trains[IN], self.fed_by[IN]
        if not self._mixes(stream) or len(train) < 2:
            return {OUT: train}
        others = [name for name in stream.schema.names if name != stream.time]
        return {OUT: Train(train.tuples.sort(stream.time, *others, maintain_order=True), train.through)}

    def _mixes(self, stream: Stream) -> bool:
        return not set(stream.keyed_by) <= set(self.columns)
