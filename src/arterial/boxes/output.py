"""Output: where a stream leaves the network for an application (Aurora §2.2), with what the application asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, Box, Stream
from arterial.network.qos import Graph
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Output(Box):
    """Delivers a stream to an application (Aurora §2.2).

    Any stream can leave, also one without order. The run says where its tuples go.

    Parameters:
        delay: what an answer is worth by its delay: pairs of seconds and a utility from 0 to 1. When drawn,
            `qos=Delay(good=2, zero=10)`: 1 up to 2 seconds, 0 from 10 on.

    >>> from arterial.testing import show
    >>> show(lambda s: s.output("alerts"), time=[1, 2], speed=[90, 120])
    time  speed
       1     90
       2    120
    """

    delay: Graph = ()

    kind: ClassVar[str] = "output"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def outputs(self) -> tuple[str, ...]:
        """Nothing goes on from here inside of the network."""
        return ()

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Any stream may leave."""
        xs = [x for x, _ in self.delay]
        if any(b <= a for a, b in pairwise(xs)) or any(not 0 <= y <= 1 for _, y in self.delay):
            raise NetworkError(f"expected a delay graph with rising delays and utilities from 0 to 1, got {self.delay}")
        return {}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The engine delivers the trains that arrive."""
        trains[IN]
        return {}
