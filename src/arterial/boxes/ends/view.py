"""View: a path without an application, to which one can connect later (Aurora §2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.boxes.ends.output import Output
from arterial.errors import NetworkError, near
from arterial.network.box import IN, OUT, Box, Keeping, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.qos import Graph
from arterial.network.state import State
from arterial.network.train import Train

NONE, SOME, ALL = "none", "some", "all"


@dataclass(frozen=True)
class View(Box):
    """Names a stream that has no application yet, so that one can connect to it later (Aurora §2.2).

    What connects gets its history first, then live. A view that is not kept costs the run nothing: it is computed from
    the connection points before it when somebody connects. One that is kept answers at once. When drawn, `qos=Delay(…)`
    or `qos=QoS(…)` gives its graphs, as of an Output.

    Parameters:
        materialise: `none`: it is computed when somebody connects; `all`: its tuples are kept, as a connection point's;
            `some`: they are kept if the run has the headroom for it.
        retention: how long tuples are kept, in the stream's own time.
        storage_key: the columns by which the files of the table are sorted.
        delay: what an answer is worth by its delay in seconds, once somebody is connected.
        share: what the view is worth by the share of its tuples that is delivered, from 0 to 1.
        value_of: the column of numbers that `value` is about.
        value: what an answer is worth by the value of that column.
        weight: how much the view counts beside outputs and other views.

    >>> from arterial.testing import show
    >>> show(lambda s: s.view("busy"), time=[1, 2], seg=[4, 3])
    time  seg
       1    4
       2    3
    """

    materialise: str = NONE
    retention: Duration = "1 hour"
    storage_key: tuple[str, ...] = ()
    delay: Graph = ()
    share: Graph = ()
    value_of: str | None = None
    value: Graph = ()
    weight: float = 1.0

    kind: ClassVar[str] = "view"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    connectable: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Like the input."""
        stream, known = inputs[IN], (NONE, SOME, ALL)
        if self.materialise not in known:
            raise NetworkError(
                f"expected materialise to be one of {', '.join(known)}, got {self.materialise!r}"
                + near(str(self.materialise), known)
            )
        if not stream.ordered:
            raise NetworkError("expected a stream in the order of its time, to know what is old; put a BSort before it")
        Output(self.name, self.delay, self.share, self.value_of, self.value, self.weight).streams(inputs)
        units(self.retention, stream.schema[stream.time], "retention")
        for name in self.storage_key:
            known_column(name, stream.schema.names)
        return {OUT: stream}

    @property
    def keeping(self) -> Keeping | None:
        """As its parameters say, if it is kept."""
        return None if self.materialise == NONE else Keeping(self.retention, self.storage_key)

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The train as it came."""
        return {OUT: trains[IN]}
