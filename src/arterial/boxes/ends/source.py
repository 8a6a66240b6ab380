"""Source: where a stream enters the network (Aurora §2, data sources), and the only place that knows of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.parts.order import require_time
from arterial.boxes.parts.reorder import reorder
from arterial.network.box import OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

ARRIVALS = "arrivals"
"""The pseudo input on which the engine hands over what arrived."""

LATE = "late"


@dataclass(frozen=True)
class Source(Box):
    """Lets a stream enter the network, in the order of its time (Aurora §2).

    - A tuple is late if its time is less than the highest time that arrived before it, minus `disorder`. That depends
      on the order of arrival alone, never on trains. Late tuples leave by `late`, as they came. A tuple at
      or before a time that its feeder promised to be complete is late too.
    - Tuples that cannot be placed leave by `late` too: those without a time, with a time further from zero than 2⁶²,
      and in a signed stream those whose sign is neither 1 nor -1.
    - Complete is what lies before the highest time minus `disorder`, or what was promised.
    - Tuples of one time stay in the order of their arrival. Gaps mean nothing.

    Parameters:
        schema: the columns and their types.
        time: the column that is the time: an integer (seconds) or a timestamp.
        disorder: how far a tuple may be behind the highest time before it.
        signed: the stream is a signed stream: its int8 column `sign` is 1 where a row comes and -1 where it goes. What
            is late is not part of it.

    >>> from arterial.testing import show
    >>> show(lambda s: s.network.stream("s", "late"), time=[1, 4, 2], x=[7, 8, 9])
    time  x
       2  9
    """

    schema: Schema
    time: str
    disorder: Duration = 0
    signed: bool = False

    kind: ClassVar[str] = "source"
    passes: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """A source has no arcs to it."""
        return ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The stream, and the tuples that came too late for it."""
        return (OUT, LATE)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The declared stream; the late tuples without order."""
        known_column(self.time, self.schema.names, "the source")
        require_time(self.schema, self.time)
        self._disorder()
        late = Stream(self.schema, self.time, ordered=False)
        return {OUT: Stream(self.schema, self.time, signed=self.signed), LATE: late}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """What is complete, in order. `through` of the arrivals is what the outside promises, `BEGIN` if nothing."""
        ordered, late = reorder(trains[ARRIVALS], state, self.time, self._disorder(), self.signed)
        return {OUT: ordered, LATE: late}

    def _disorder(self) -> int:
        return units(self.disorder, self.schema[self.time], "disorder", least=0)
