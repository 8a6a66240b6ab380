"""Session: windows that last as long as tuples follow each other closely (Aurora §2.1; Flink's session windows)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.windows.cut import window_plan, window_stream
from arterial.boxes.parts.windows.sessions import session_by_tuples, session_by_values
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Values
from arterial.network.schema import Field, Schema
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
    - With `tuples`, every tuple of a session leaves when it closes, in the order in which they came, with the values of
      the session behind its columns. Its time is then that of the session; copy it before if it is wanted.

    Parameters:
        values: pairs of a name and an expression over aggregates, as in `Tumble`.
        gap: the longest time between two tuples of one session.
        tuples: whether the tuples of a session leave, each with its values, instead of one tuple for all of them.

    >>> from arterial.testing import show
    >>> visits = lambda s: s.group_by("user").session("visits", gap="30 s", n="count(*)", since="window_start()")
    >>> show(visits, time=[1, 20, 50, 81], user=[7, 7, 7, 7])
    user  time  n  since
       7    50  3      1
       7    81  1     81
    >>> show(lambda s: s.session("visits", gap=9, tuples=True, n="count(*)"), time=[1, 5, 20], page=[7, 8, 9])
    time  page  n
       5     7  2
       5     8  2
      20     9  1
    """

    values: Values
    gap: Duration
    tuples: bool = False

    kind: ClassVar[str] = "session"
    splits_by_group: ClassVar[bool] = True
    numbered: ClassVar[Mapping[str, str]] = MappingProxyType({"tuples": "@sequence"})
    windowed: ClassVar[bool] = True
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values; with `tuples`, all columns and the values."""
        stream = inputs[IN]
        require_order(stream)
        self._gap(stream)
        made = window_stream(stream, self.values)
        if not self.tuples:
            return {OUT: made}
        values = [field for field in made.schema if field.name not in (*stream.keyed_by, stream.time)]
        if taken := [field.name for field in values if field.name in stream.schema]:
            raise NetworkError(f"the stream has a column {taken[0]!r} already; give the value another name")
        own = [
            Field(field.name, made.schema[field.name] if field.name == stream.time else field.type)
            for field in stream.schema
        ]
        return {OUT: replace(made, schema=Schema((*own, *values)))}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The sessions that the train closes."""
        stream, train = self.fed_by[IN], trains[IN]
        plan = window_plan(stream, self.values, by_tuples=True)
        if self.tuples or plan.holistic:
            whole = self.streams(self.fed_by)[OUT].schema if self.tuples else None
            return {OUT: session_by_tuples(self.name, plan, stream, train, state, self._gap(stream), whole)}
        return {OUT: session_by_values(plan, stream, train, state, self._gap(stream))}

    def _gap(self, stream: Stream) -> int:
        return units(self.gap, stream.schema[stream.time], "gap")
