"""Slide: advances a window over the stream and computes values over each stop (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.windows.cut import check_count, window_plan, window_stream
from arterial.boxes.parts.windows.recompute import columns_needed, slide_by_time, slide_by_tuples
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import Values
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Slide(Box):
    """Advances a window over the stream and computes values over each stop (Aurora §2.1).

    - By time, a window ends with the last instant before each multiple of `every` and reaches `over` back; that instant
      is the time of its result. The first windows of a group reach back to before it began. If `every` is longer than
      `over`, tuples between windows are in none.
    - By tuples, a window is `size` tuples of the group; the time of its last tuple is that of its result.
    - A window without tuples, or with fewer than `size`, gives nothing.
    - The tuples of open windows wait in chunks of which a train touches few.

    Parameters:
        values: pairs of a name and an expression over aggregates, as in `Tumble`.
        over: how far back a window reaches in time, with
        every: the distance of two windows in time; or
        size: the number of tuples of a window, with
        advance: the number of tuples from one window to the next; None: 1.

    >>> from arterial.testing import show
    >>> show(lambda s: s.slide("rolling", size=2, mean="avg(x)"), time=[1, 2, 3], x=[4, 8, 6])
    time  mean
       2   6.0
       3   7.0
    """

    values: Values
    over: Duration | None = None
    every: Duration | None = None
    size: int | None = None
    advance: int | None = None

    kind: ClassVar[str] = "slide"
    splits_by_group: ClassVar[bool] = True
    windowed: ClassVar[bool] = True
    instead: ClassVar[str] = "use aggregate, which keeps the values of what stands"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values."""
        require_order(inputs[IN])
        self._window(inputs[IN])
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
        size, advance = self._window(stream)
        plan = window_plan(stream, self.values, self.size is not None)
        slide = slide_by_time if self.size is None else slide_by_tuples
        return {OUT: slide(self.name, plan, stream, train, state, size, advance)}

    def _window(self, stream: Stream) -> tuple[int, int]:
        by_time = self.over is not None and self.every is not None
        by_tuples = self.size is not None
        mixed = by_time and (by_tuples or self.advance is not None)
        if mixed or not (by_time or by_tuples) or (by_tuples and (self.over is not None or self.every is not None)):
            raise NetworkError(
                "expected a window by time (over='5 minutes', every='1 minute') or by tuples (size=10, advance=1), got "
                f"over={self.over!r}, every={self.every!r}, size={self.size!r}, advance={self.advance!r}"
            )
        if by_tuples:
            return check_count(self.size, "size"), check_count(1 if self.advance is None else self.advance, "advance")
        assert self.over is not None
        assert self.every is not None
        kind = stream.schema[stream.time]
        return units(self.over, kind, "over"), units(self.every, kind, "every")
