"""ConnectionPoint: a place on an arc where the stream is also kept for some time (Aurora §2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class ConnectionPoint(Box):
    """Lets every tuple pass. The engine keeps them in a table for `retention`, its files sorted by `storage_key`."""

    retention: Duration
    storage_key: tuple[str, ...] = ()

    kind: ClassVar[str] = "connection_point"
    stateless: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Like the input."""
        stream = inputs[IN]
        if not stream.ordered:
            raise NetworkError("expected a stream in the order of its time, to know what is old; put a BSort before it")
        units(self.retention, stream.schema[stream.time], "retention")
        for name in self.storage_key:
            known_column(name, stream.schema.names)
        return {OUT: stream}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The train as it came."""
        return {OUT: trains[IN]}
