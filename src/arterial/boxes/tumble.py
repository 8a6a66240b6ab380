"""Tumble: partitions a stream into disjoint windows and computes values over each (Aurora §2.1, thesis §5.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.parts.recompute import slide_by_time, slide_by_tuples
from arterial.boxes.parts.windows import check_window, tumble_by_time, tumble_by_tuples, window_plan, window_stream
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.duration import Duration
from arterial.network.expression.aggregate import Values
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Tumble(Box):
    """Windows of `every` (a time), or of `size` tuples, of each group; several values in one pass.

    A time window begins at a multiple of `every` and is stamped with its last instant. A window of tuples is stamped
    with the time of its last tuple. A window without tuples gives nothing, nor does one of fewer than `size` tuples.
    """

    values: Values
    every: Duration | None = None
    size: int | None = None

    kind: ClassVar[str] = "tumble"
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values."""
        check_window(inputs[IN], self.every, self.size)
        return {OUT: window_stream(inputs[IN], self.values)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The windows that the train closes."""
        stream, train = self.fed_by[IN], trains[IN]
        window = check_window(stream, self.every, self.size)
        plan = window_plan(stream, self.values, self.size is not None)
        if self.size is None:
            if plan.holistic:
                return {OUT: slide_by_time(self.name, plan, stream, train, state, window, window)}
            return {OUT: tumble_by_time(plan, stream, train, state, window)}
        if plan.holistic:
            return {OUT: slide_by_tuples(self.name, plan, stream, train, state, window, window)}
        return {OUT: tumble_by_tuples(plan, stream, train, state, window)}
