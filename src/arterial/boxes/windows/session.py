"""Session: windows that last as long as tuples follow each other closely (Aurora §2.1; Flink's session windows)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.windows.cut import window_plan, window_stream
from arterial.boxes.parts.windows.sessions import session_by_tuples, session_by_values
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Values
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Session(Box):
    """Computes values over each session of a group: tuples that follow each other closely (Aurora §2.1; Flink).

    - A tuple at most `gap` after the last tuple of its group's session belongs to that session; a later one begins the
      next. The time of the last tuple is the time of the result.
    - A session closes when the stream is complete through its last time plus `gap`, or at the end of the stream.
    - `window_start()` is the time of the first tuple.
    - What leaves is the group, the time and the values. State is kept of open sessions only: a few numbers for most
      aggregates, their tuples for functions and for the aggregates that need all values, as in `Tumble`.

    Parameters:
        values: pairs of a name and an expression over aggregates, as in `Tumble`.
        gap: the longest time between two tuples of one session.

    >>> from arterial.testing import show
    >>> visits = lambda s: s.group_by("user").session("visits", gap="30 s", n="count(*)", since="window_start()")
    >>> show(visits, time=[1, 20, 50, 81], user=[7, 7, 7, 7])
    user  time  n  since
       7    50  3      1
       7    81  1     81
    """

    values: Values
    gap: Duration

    kind: ClassVar[str] = "session"
    splits_by_group: ClassVar[bool] = True
    numbered: ClassVar[Mapping[str, str]] = MappingProxyType({"tuples": "@sequence"})
    windowed: ClassVar[bool] = True
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values."""
        require_order(inputs[IN])
        self._gap(inputs[IN])
        return {OUT: window_stream(inputs[IN], self.values)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The sessions that the train closes."""
        stream, train = self.fed_by[IN], trains[IN]
        plan = window_plan(stream, self.values, by_tuples=True)
        if plan.holistic:
            return {OUT: session_by_tuples(self.name, plan, stream, train, state, self._gap(stream))}
        return {OUT: session_by_values(plan, stream, train, state, self._gap(stream))}

    def _gap(self, stream: Stream) -> int:
        return units(self.gap, stream.schema[stream.time], "gap")
