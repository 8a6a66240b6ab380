"""The box: a named function from trains to trains, with the types of its streams and the state that it keeps.

A box is immutable data. `streams` says which streams it accepts and gives, `process` is the vectorised function that
the engine runs; what it means is defined by the interpreter (`arterial.reference`), a tuple at a time. Its traits say
what may be done to it: compiler, optimizer and shedder ask them and know no kind of box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from arterial.errors import NetworkError
from arterial.network.duration import Duration
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

    A `signed` stream carries the changes of a multiset of rows, the answer (GPAC §5): its int8 column `sign` is 1 where
    a row comes and -1 where it goes. A row is all columns but the time and the sign; the time is that of the change.
    """

    schema: Schema
    time: str
    ordered: bool = True
    keyed_by: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True)
class Keeping:
    """How long a box keeps the tuples that pass it, and the columns by which they are sorted there."""

    retention: Duration
    storage_key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Box(ABC):
    """The base of all boxes. Subclasses are frozen dataclasses whose fields are plain data, so that they go to JSON.

    A subclass with a `kind` is registered by being defined: JSON, interpreter, pictures, documentation and conformance
    suite find it. Traits have defaults that are safe for any box: nothing may be done to it.
    """

    name: str

    fed_by: Mapping[str, Stream] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    """The streams that its inputs carry, by port. The network fills it in; no part of what the box is."""

    used: frozenset[str] = field(default=ALL_PORTS, kw_only=True, compare=False, repr=False)
    """The output ports that arcs begin at; a box may leave the trains of the others empty. The network fills it in."""

    kind: ClassVar[str]
    """The word for this kind of box, unique: "filter", "tumble"."""

    meaning: ClassVar[str] = ""
    """Where what it means is defined, a tuple at a time: "module:function". For a box of `arterial.boxes`, without it,
    the function of the same name in `arterial.reference`."""

    because: ClassVar[str] = ""
    """Where it is said which tuples one was made of (`arterial.reference.parts.causes`): "module:function". For a box
    of `arterial.boxes`, without it, `because` beside its meaning. Without either: all tuples of the group."""

    scope: ClassVar[str] = ""
    """The same for how far back, and in which groups, tuples could change what leaves: `scope` beside the meaning."""

    instead: ClassVar[str] = "a box that handles signs declares takes_signed = True"
    """What to do where a signed stream came and the box does not take one."""

    kinds: ClassVar[dict[str, type[Box]]] = {}
    """Every kind of box that was defined, by its word."""

    # The traits. docs/boxes/README.md lists them, with what each box says.

    stateless: ClassVar[bool] = False
    """Looks at nothing but the tuples of its train, one by one; it may then run in any shard."""

    takes_signed: ClassVar[bool] = False
    """Takes signed streams. A box that does not say so refuses them: a minus would count as one more tuple."""

    passes: ClassVar[bool] = False
    """Lets a tuple through as it is or not at all; it may hold tuples back, reorder them, and choose their port."""

    independent: ClassVar[bool] = False
    """What leaves for a tuple follows from that tuple alone, as from a stateless box, although it may wait for others
    or move; so a tuple that was left out can be run by itself later."""

    regroups: ClassVar[bool] = False
    """Gives its stream another key, and so may move tuples to another shard. Nothing else does."""

    compares_equals: ClassVar[bool] = False
    """Looks at nothing but tuples of one instant that are equal to each other: what leaves is the same in whatever
    groups equal tuples meet."""

    everywhere: ClassVar[frozenset[str]] = frozenset()
    """The inputs that every shard gets whole, where the others are grouped: each group may need any of their tuples."""

    thinnable: ClassVar[frozenset[str]] = frozenset()
    """The inputs of which tuples may be left out under overload: the answer is then that of a sample, and it recovers
    once all tuples come again. Ask `may_be_thinned`, which knows the streams too."""

    thinnable_by_group: ClassVar[frozenset[str]] = frozenset()
    """The inputs of which whole groups of the stream's key may be left out under overload: what the box answers about
    the other groups is then exactly right. Ask `may_lose_groups`, which knows the streams too."""

    inseparable: ClassVar[frozenset[str]] = frozenset()
    """The inputs whose arc must stay as it is: nothing between the box and its neighbour, nothing left out, both in one
    superbox. For a box that relies on more than the tuples, such as the numbers of rows in its neighbour's train."""

    connectable: ClassVar[bool] = False
    """Others may connect to it by its name while the network runs. One that keeps nothing and leads nowhere is left out
    of the run, and computed by whoever connects."""

    windowed: ClassVar[bool] = False
    """Gives results when windows of time close; the last ones close with the end of the input."""

    movable: ClassVar[bool] = False
    """Selects rows of its input `in`, and may be moved past filters and matches, as its selectivity says."""

    splits_by_group: ClassVar[bool] = False
    """Keeps nothing but tables whose rows have the columns of their group, and clocks that only go forward. So its
    state can be put together for another number of shards."""

    numbered: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Its tables whose rows are numbered within a shard, not within a group, and the column of the number."""

    @property
    def never_fails(self) -> bool:
        """Fails on no tuple, whatever is in it; so it may meet tuples that a filter before it would have left out."""
        return False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _register(cls)

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

    @property
    def keeping(self) -> Keeping | None:
        """How long it keeps the tuples that pass, and sorted by what; the engine writes the table. None: not at all."""
        return None

    def reads(self, stream: Stream) -> frozenset[str]:
        """The columns of its first input, beside time and sign, that it looks at; others go on unread or not at all."""
        return frozenset(stream.schema.names)

    def remembers(self, stream: Stream) -> frozenset[str]:
        """The columns of its first input that its state holds or depends on: those must stay while it runs."""
        return frozenset() if self.stateless else frozenset(stream.schema.names)

    def changes(self, stream: Stream) -> frozenset[str]:
        """The columns of its first input that do not go on as they are, tuple by tuple."""
        return frozenset() if self.passes else frozenset(stream.schema.names)

    def commutes_with(self, read: frozenset[str], stream: Stream) -> bool:
        """Gives the same whether a filter that reads these columns of such an input is before it or behind it. By
        default, a box that takes each tuple by itself does if it changes none of them."""
        seen = self.connectable or self.keeping is not None
        by_itself = self.stateless and len(self.inputs) == 1 and bool(self.outputs) and not seen
        return by_itself and read <= set(stream.schema.names) - self.changes(stream)

    def lowers(self, stream: Stream) -> bool:
        """While it runs it may be moved below a filter on such a stream that it commutes with, and its state is right
        there: what it has not seen are tuples that the filter leaves out behind it as well."""
        return False

    def selects(self) -> str | None:
        """The condition, as an expression, that every tuple which leaves by its first output satisfies, as it came.
        None: there is none, or it is not known."""
        return None

    def copies(self, stream: Stream) -> Mapping[str, str] | None:
        """For a box that makes one tuple of each: the columns that it gives as they came, with their names there.
        None: it makes tuples in another way."""
        return None

    def computes(self, stream: Stream) -> Mapping[str, str] | None:
        """For a box that makes one tuple of each: the columns that it computes from an expression over its input, with
        that. Those of functions are left out. None: it makes tuples in another way."""
        return None

    def carries(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """For a box of several inputs: the columns that it gives as they came, with the inputs and columns that they
        come from."""
        return {}

    def stale(self) -> frozenset[str]:
        """The columns that leave as they were when the box last reported a row; they depend on where it stands."""
        return frozenset()

    def apart(self) -> tuple[Box, str] | None:
        """For a box that needs the tuples of its first input that a filter before it would leave out: the same box with
        an input of its own for them, and that input's name. None: it needs none."""
        return None

    def may_be_thinned(self, port: str) -> bool:
        """Whether tuples may be left out of the stream on that input, as far as this box is concerned.

        The changes of a signed stream belong together, so none of them may.
        """
        return port in self.thinnable and port not in self.inseparable and not self.fed_by[port].signed

    def may_lose_groups(self, port: str) -> bool:
        """Whether whole groups may be left out of the stream on that input, as far as this box is concerned."""
        stream = self.fed_by[port]
        whole = port in self.thinnable_by_group and port not in self.inseparable
        return whole and bool(stream.keyed_by) and not stream.signed


def is_from_library(kind: type[Box]) -> bool:
    """Whether it is one of `arterial.boxes`, which are in every process and known by the word of their kind."""
    return kind.__module__.startswith("arterial.boxes.") and kind.__module__.endswith(f".{kind.kind}")


def _register(kind: type[Box]) -> None:
    known = Box.kinds.get(kind.kind)
    if known is not None and _is_own(known) != _is_own(kind):
        mine, theirs = (known, kind) if _is_own(known) else (kind, known)
        raise NetworkError(
            f"the kind {kind.kind!r} of the class {theirs.__module__}.{theirs.__qualname__} is taken by "
            f"{mine.__module__}.{mine.__qualname__}; give it a word of its own"
        )
    Box.kinds[kind.kind] = kind


def _is_own(kind: type[Box]) -> bool:
    return kind.__module__.startswith("arterial.")
