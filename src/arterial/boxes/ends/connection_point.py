"""ConnectionPoint: a place on an arc where the stream is also kept for some time (Aurora §2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Keeping, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class ConnectionPoint(Box):
    """Lets every tuple pass and keeps it for some time, where queries can be attached later (Aurora §2.2).

    The engine writes the table, each tuple exactly once.

    Parameters:
        retention: how long tuples are kept, in the stream's own time.
        storage_key: the columns by which the files of the table are sorted, so that a filter on them reads little.

    >>> from arterial.testing import show
    >>> show(lambda s: s.connection_point("history", "1 hour", ["seg"]), time=[1, 2], seg=[4, 3])
    time  seg
       1    4
       2    3
    """

    retention: Duration
    storage_key: tuple[str, ...] = ()

    kind: ClassVar[str] = "connection_point"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    connectable: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Like the input."""
        stream = inputs[IN]
        if not stream.ordered:
            raise NetworkError("expected a stream in the order of its time, to know what is old; put a BSort before it")
        units(self.retention, stream.schema[stream.time], "retention")
        for name in self.storage_key:
            known_column(name, stream.schema.names)
        return {OUT: stream}

    @property
    def keeping(self) -> Keeping:
        """As its parameters say."""
        return Keeping(self.retention, self.storage_key)

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The train as it came."""
        return {OUT: trains[IN]}
