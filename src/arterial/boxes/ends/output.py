"""Output: where a stream leaves the network for an application (Aurora §2.2), with what the application asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, Box, Stream
from arterial.network.expression.tree import known_column
from arterial.network.qos import Graph, check_delay, check_share, check_value, check_weight
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Output(Box):
    """Delivers a stream to an application (Aurora §2.2).

    Any stream can leave, also one without order. The run says where its tuples go.

    When drawn, `qos=Delay(good=2, zero=10)` gives a graph of delay (1 up to 2 seconds, 0 from 10 on), and
    `qos=QoS(delay=…, share=…, value=…, weight=…)` any of them. A graph is points (x, utility) with utilities from 0 to
    1, the greatest of them 1. Along `delay` and `share` a further loss costs at least as much as the one before.

    Parameters:
        delay: what an answer is worth by its delay in seconds.
        share: what the output is worth by the share of its tuples that is delivered, from 0 to 1.
        value_of: the column of numbers that `value` is about.
        value: what an answer is worth by the value of that column.
        weight: how much the output counts beside others.

    >>> from arterial.testing import show
    >>> show(lambda s: s.output("alerts"), time=[1, 2], speed=[90, 120])
    time  speed
       1     90
       2    120
    """

    delay: Graph = ()
    share: Graph = ()
    value_of: str | None = None
    value: Graph = ()
    weight: float = 1.0

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
        check_delay(self.delay)
        check_share(self.share)
        check_value(self.value)
        check_weight(self.weight)
        if bool(self.value) != (self.value_of is not None):
            raise NetworkError("expected both value_of, a column, and value, its graph, or neither")
        if self.value_of is not None:
            schema = inputs[IN].schema
            known_column(self.value_of, schema.names)
            if not schema[self.value_of].is_number:
                raise NetworkError(
                    f"value: expected a column of numbers, got {self.value_of!r}, which is {schema[self.value_of]}"
                )
        return {}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The engine delivers the trains that arrive."""
        trains[IN]
        return {}
