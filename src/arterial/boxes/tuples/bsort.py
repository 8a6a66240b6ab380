"""BSort: puts a stream in bounded disorder into the order of its time (Aurora's buffered sort; see decision 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.ends.source import LATE
from arterial.boxes.parts.order import require_time
from arterial.boxes.parts.reorder import reorder
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train


@dataclass(frozen=True)
class BSort(Box):
    """Puts a stream in bounded disorder into the order of its time, or of another column (Aurora §2.1).

    Late tuples, and tuples without a time or with one further from zero than 2⁶², leave by `late`, in the order in
    which they came. The input must be one sequence: groups have no common order to be late in.

    Parameters:
        disorder: how far a tuple may be behind the highest time before it; a tuple further behind is late.
        time: the column to order by, which becomes the time of the stream; None: the time that the stream has.

    >>> from arterial.testing import show
    >>> show(lambda s: s.bsort("by_sent", disorder=2, time="sent"), time=[1, 2, 3, 4], sent=[5, 4, 7, 1])
    time  sent
       2     4
       1     5
       3     7
    """

    disorder: Duration
    time: str | None = None

    kind: ClassVar[str] = "bsort"
    passes: ClassVar[bool] = True
    instead: ClassVar[str] = "it is in the order of its changes already"
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def outputs(self) -> tuple[str, ...]:
        """The ordered stream, and the tuples that came too late for it."""
        return (OUT, LATE)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input, ordered."""
        stream = inputs[IN]
        if stream.keyed_by:
            raise NetworkError(
                f"expected a stream that is one sequence, got one grouped by ({', '.join(stream.keyed_by)}), "
                "whose groups have no common order to be late in; put the BSort before the GroupBy"
            )
        time = known_column(self.time or stream.time, stream.schema.names)
        require_time(stream.schema, time)
        self._disorder(stream)
        return {OUT: Stream(stream.schema, time), LATE: Stream(stream.schema, time, ordered=False)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """What is complete, in order."""
        train, stream = trains[IN], self.fed_by[IN]
        time = self.time or stream.time
        # An ordered input is complete by its own time; what it says of another column is known only at its end.
        promise = train.through if (stream.ordered and time == stream.time) or train.through == END else None
        arrived = train if promise is not None else Train(train.tuples, BEGIN)
        ordered, late = reorder(arrived, state, time, self._disorder(stream))
        return {OUT: ordered, LATE: late}

    def _disorder(self, stream: Stream) -> int:
        return units(self.disorder, stream.schema[self.time or stream.time], "disorder", least=0)
