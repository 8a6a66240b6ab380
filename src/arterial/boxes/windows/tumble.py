"""Tumble: partitions a stream into disjoint windows and computes values over each (Aurora §2.1, thesis §5.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.parts.windows.cut import check_window, tumble_by_time, tumble_by_tuples, window_plan, window_stream
from arterial.boxes.parts.windows.recompute import columns_needed, slide_by_time, slide_by_tuples
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration
from arterial.network.expression.aggregate import Values
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Tumble(Box):
    """Computes values over disjoint windows of each group (Aurora §2.1, thesis §5.4.2).

    - A time window begins at a multiple of `every`; its last instant is the time of its result. It closes as soon as
      that instant is complete. A window without tuples of a group gives nothing for it.
    - A window of tuples is the next `size` tuples of the group; the time of its last tuple is that of its result. One
      that never fills gives nothing.
    - Nulls are left out by every aggregate but `count(*)`.
    - What leaves is the group, the time and the values. Most aggregates keep a few numbers for each open window;
      `count(distinct …)`, `median`, `percentile` and functions keep its tuples.
    - `percentile(x, p)`, with p from 0 to 1, lies between the two values at place p · (n - 1), in proportion;
      `median(x)` is `percentile(x, 0.5)`. `approx_percentile(x, p)` keeps a histogram in place of the tuples: it is the
      value at the place rounded down, off by at most 0.8 % of it, however the stream is cut.

    Parameters:
        values: pairs of a name and an expression over `count(*)`, `count`, `count(distinct …)`, `sum`, `min`, `max`,
            `avg`, `first`, `last`, `stddev` (of a sample), `median`, `percentile`, `approx_percentile`,
            `window_start()` and the columns of the group. A function made with `@function` gets the columns of the
            window and returns one value, or as many as it produces.
        every: the length of a window in time; or
        size: the number of tuples of a window.

    >>> from arterial.testing import show
    >>> show(lambda s: s.tumble("per_minute", every="1 minute", top="max(x)"), time=[1, 59, 61], x=[4, 9, 5])
    time  top
      59    9
     119    5
    """

    values: Values
    every: Duration | None = None
    size: int | None = None

    kind: ClassVar[str] = "tumble"
    splits_by_group: ClassVar[bool] = True
    windowed: ClassVar[bool] = True
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values."""
        check_window(inputs[IN], self.every, self.size)
        return {OUT: window_stream(inputs[IN], self.values)}

    def reads(self, stream: Stream) -> frozenset[str]:
        """The group, and what the values are computed from."""
        return frozenset(columns_needed(window_plan(stream, self.values, self.size is not None), stream))

    def remembers(self, stream: Stream) -> frozenset[str]:
        """What it reads."""
        return self.reads(stream)

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
