"""The box: a named function from trains to trains, with the types of its streams and the state that it keeps.

A box is immutable data. `streams` says which streams it accepts and gives, `process` is the vectorised function that
the engine runs; what it means is defined by the interpreter (`arterial.reference`), a tuple at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

SIGN = "sign"
"""The column of a signed stream that is 1 or -1."""

IN = "in"
OUT = "out"


class _AllPorts(frozenset[str]):
    """Contains every port: a box outside of a network gives all that it has."""

    def __contains__(self, port: object) -> bool:
        return True

    def __reduce__(self) -> Any:
        return (_AllPorts, ())


ALL_PORTS: frozenset[str] = _AllPorts()


@dataclass(frozen=True)
class Stream:
    """The type of a stream: its columns, its time, and the order that its tuples have.

    An ordered stream comes in the order of its time column. `keyed_by` names the columns of its groups: the order of
    tuples with equal time is defined within a group only; () means one sequence, where ties stay as they arrived.

    A `signed` stream tells the changes of a multiset of rows, the answer (GPAC §5): its int8 column `sign` is 1 where a
    row comes and -1 where it goes. A row is all columns but the time and the sign; the time is that of the change.
    """

    schema: Schema
    time: str
    ordered: bool = True
    keyed_by: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True)
class Box(ABC):
    """The base of all boxes. Subclasses are frozen dataclasses whose fields are plain data, so that they go to JSON."""

    name: str

    fed_by: Mapping[str, Stream] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    """The streams that its inputs carry, by port. The network fills it in; no part of what the box is."""

    used: frozenset[str] = field(default=ALL_PORTS, kw_only=True, compare=False, repr=False)
    """The output ports that arcs begin at; a box may leave the trains of the others empty. The network fills it in."""

    kind: ClassVar[str]
    """The word for this kind of box, unique: "filter", "tumble"."""

    stateless: ClassVar[bool] = False
    """Whether `process` looks at nothing but the tuples of its train, one by one; it may then run in any shard."""

    takes_signed: ClassVar[bool] = False
    """Whether its inputs may be signed. One that does not say so refuses them: a minus would count as a tuple more."""

    instead: ClassVar[str] = "a box that handles signs declares takes_signed = True"
    """What to do where a signed stream came and the box does not take one."""

    kinds: ClassVar[dict[str, type[Box]]] = {}
    """The kinds of box of `arterial.boxes`, by their words. A user's own is found by the place of its class."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__ and cls.__module__.startswith("arterial.boxes."):
            Box.kinds[cls.kind] = cls

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its input ports."""
        return (IN,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its output ports."""
        return (OUT,)

    @abstractmethod
    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Check the types of the input streams and derive those of the outputs, by port.

        Raises `NetworkError` that says what was expected and what came; the network adds where.
        """

    @abstractmethod
    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """One train from each input port to one train for each output port.

        It is called once a step, also with empty trains: their `through` may have moved. It must give the same tuples
        however the input is cut into trains.
        """
