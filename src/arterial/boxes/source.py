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
    """Orders what arrives by time. A tuple is late if its time is less than the highest so far minus `disorder`.

    Late tuples, and tuples without a time, leave by the port `late`, in the order of their arrival. A `signed` source
    has an int8 column `sign`; what is late of it is no longer part of the changes, and so not signed.
    """

    schema: Schema
    time: str
    disorder: Duration = 0
    signed: bool = False

    kind: ClassVar[str] = "source"

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
        ordered, late = reorder(trains[ARRIVALS], state, self.time, self._disorder())
        return {OUT: ordered, LATE: late}

    def _disorder(self) -> int:
        return units(self.disorder, self.schema[self.time], "disorder", least=0)
