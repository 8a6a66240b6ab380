"""GroupBy: partitions a stream into groups with the same values over some columns (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from arterial.boxes.parts.order import require_order
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.tree import known_column
from arterial.network.signed import require_rows_only
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class GroupBy(Box):
    """The same tuples, ordered within each group. No columns: one group of all.

    A null is a value like any other here. If the stream was grouped by columns that are not among the new ones, tuples
    of one group and one time had no common order; they are then put in the order of their values.
    """

    columns: tuple[str, ...]

    kind: ClassVar[str] = "group_by"
    takes_signed: ClassVar[bool] = True

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
