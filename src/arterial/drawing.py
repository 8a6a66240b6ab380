"""Draws networks: each call adds a box and gives the stream that leaves it. What was drawn is an immutable value.

net = Network("speeding")
reports = net.source("reports", {"vehicle": int, "time": int, "speed": int}, time="time")
reports.filter("fast", "speed > 100").group_by("vehicle").tumble(
    "per_minute", every="1 minute", peak="max(speed)"
).output("alerts")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from arterial.boxes.aggregate import Aggregate
from arterial.boxes.bsort import BSort
from arterial.boxes.connection_point import ConnectionPoint
from arterial.boxes.distinct import Distinct
from arterial.boxes.drop import Drop
from arterial.boxes.filter import OTHERWISE, Filter
from arterial.boxes.group_by import GroupBy
from arterial.boxes.join import LEFT, RIGHT, Join
from arterial.boxes.latch import Latch
from arterial.boxes.latest import Latest
from arterial.boxes.map import Map
from arterial.boxes.match import Match
from arterial.boxes.net import Net
from arterial.boxes.output import Output
from arterial.boxes.read_relation import CHANGES, ReadRelation
from arterial.boxes.resample import Resample
from arterial.boxes.slide import Slide
from arterial.boxes.source import LATE, Source
from arterial.boxes.tumble import Tumble
from arterial.boxes.union import Union
from arterial.boxes.update_relation import UpdateRelation
from arterial.boxes.wait_for import UNMET, UNTIL, WaitFor
from arterial.errors import NetworkError
from arterial.network.box import OUT, Box, Stream
from arterial.network.drawn_at import names_the_line
from arterial.network.duration import Duration
from arterial.network.expression.aggregate import Values
from arterial.network.expression.function import Function
from arterial.network.expression.tree import known_column
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.picture import svg
from arterial.network.qos import Delay
from arterial.network.relation import Relation
from arterial.network.schema import Schema, SchemaLike
from arterial.network.serial import from_json, to_json

Value = str | Function


@names_the_line
class Network:
    """A network that is being drawn. `value` is what was drawn so far."""

    def __init__(self, name: str) -> None:
        self.value = NetworkValue(name)

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.value.name

    @classmethod
    def of(cls, value: NetworkValue) -> Network:
        """A network to draw on, that begins with that value."""
        network = cls(value.name)
        network.value = value
        return network

    @classmethod
    def from_json(cls, text: str) -> Network:
        """The network that the text describes."""
        return cls.of(from_json(text))

    def to_json(self) -> str:
        """The network as JSON text."""
        return to_json(self.value)

    def source(
        self, name: str, schema: SchemaLike, time: str = "time", disorder: Duration = 0, *, signed: bool = False
    ) -> StreamHandle:
        """A stream from outside, with tuples of that schema and the column that is their time.

        A tuple may come up to `disorder` behind the highest time before it; what is later leaves by `.late`. A `signed`
        stream has a column `sign`, int8, that is 1 where a row comes and -1 where it goes.
        """
        return self.box(Source(name, Schema.of(schema), time, disorder, signed))

    def relation(
        self,
        name: str,
        schema: SchemaLike,
        key: str | Sequence[str] = (),
        rows: Sequence[Sequence[Any] | Mapping[str, Any]] = (),
    ) -> RelationHandle:
        """A named table with a key, for `update_relation` and `read_relation`, and the rows that it begins with."""
        columns = Schema.of(schema)
        keys = (key,) if isinstance(key, str) else tuple(key)
        tuples = []
        for row in rows:
            if isinstance(row, Mapping):
                for column in row:
                    known_column(column, columns.names, f"the relation {name!r}")
                row = [row.get(column) for column in columns.names]
            tuples.append(tuple(row))
        try:
            return RelationHandle(Relation(name, columns, keys, tuple(tuples)))
        except NetworkError as mistake:
            raise NetworkError(f"network {self.name!r}: {mistake}") from None

    @contextmanager
    def composed(self, name: str) -> Iterator[None]:
        """Let the boxes that are drawn inside of the `with` be parts of one composed box."""
        before = len(self.value.boxes)
        yield
        self.group(name, [box.name for box in self.value.boxes[before:]])

    def box(self, box: Box, **inputs: StreamHandle) -> StreamHandle:
        """Add any box, with the stream for each of its inputs by the name of the port."""
        for port, stream in inputs.items():
            if not isinstance(stream, StreamHandle):
                raise NetworkError(
                    f"network {self.name!r}, box {box.name!r}: expected a stream for input {port!r}, got {stream!r}"
                )
            if stream.network is not self:
                raise NetworkError(
                    f"network {self.name!r}, box {box.name!r}: the stream for input {port!r} "
                    f"is of another network, {stream.network.name!r}"
                )
        arcs = tuple(Arc(stream.port, Port(box.name, port)) for port, stream in inputs.items())
        old = self.value
        self.value = NetworkValue(old.name, (*old.boxes, box), (*old.arcs, *arcs), old.groups)
        return StreamHandle(self, Port(box.name, box.outputs[0] if box.outputs else ""))

    def stream(self, box: str, port: str = OUT) -> StreamHandle:
        """The stream that leaves a box that was drawn before."""
        return StreamHandle(self, Port(box, OUT)).port_named(port)

    def group(self, name: str, boxes: Sequence[str]) -> None:
        """Let these boxes be shown and spoken of as one composed box."""
        if name in self.value.groups:
            raise NetworkError(f"network {self.name!r}: two groups are named {name!r}; give one another name")
        for box in boxes:
            self.value.box(box)
        old = self.value
        self.value = NetworkValue(old.name, old.boxes, old.arcs, {**old.groups, name: tuple(boxes)})

    def _repr_html_(self) -> str:
        """The picture that a notebook shows."""
        return svg(self.value)

    def free_name(self, base: str) -> str:
        """The base, or the base with a number, so that no box has it."""
        names = {box.name for box in self.value.boxes}
        number = 2
        name = base
        while name in names:
            name, number = f"{base}_{number}", number + 1
        return name


@names_the_line
@dataclass(frozen=True)
class StreamHandle:
    """A stream of a network that is being drawn: the port that it leaves from."""

    network: Network
    port: Port

    @property
    def type(self) -> Stream:
        """The columns, the time and the order of the stream."""
        try:
            return self.network.value.streams[self.port]
        except KeyError:
            raise NetworkError(
                f"network {self.network.name!r}: no stream leaves box {self.port.box!r} by {self.port.port!r}"
            ) from None

    @property
    def schema(self) -> Schema:
        """The columns of the stream."""
        return self.type.schema

    def port_named(self, port: str) -> StreamHandle:
        """Another stream that leaves the same box."""
        box = self.network.value.box(self.port.box)
        if port not in box.outputs:
            raise NetworkError(
                f"network {self.network.name!r}: box {box.name!r} has no output {port!r}; "
                f"it has: {', '.join(box.outputs) or 'none'}"
            )
        return StreamHandle(self.network, Port(box.name, port))

    @property
    def otherwise(self) -> StreamHandle:
        """Of a Filter: the tuples that do not satisfy it."""
        return self.port_named(OTHERWISE)

    @property
    def unmet(self) -> StreamHandle:
        """Of a WaitFor: the tuples that still waited when the streams ended."""
        return self.port_named(UNMET)

    @property
    def late(self) -> StreamHandle:
        """Of a Source or a BSort: the tuples that came too late."""
        return self.port_named(LATE)

    def box(self, box: Box, **others: StreamHandle) -> StreamHandle:
        """Lead the stream into any box, by its first input; `others` are the streams for its other inputs."""
        free = [port for port in box.inputs if port not in others]
        if not free:
            raise NetworkError(f"network {self.network.name!r}, box {box.name!r}: it has no input for this stream")
        return self.network.box(box, **{free[0]: self}, **others)

    def filter(self, name: str, predicate: Value) -> StreamHandle:
        """The tuples that satisfy the predicate; `.otherwise` are the others."""
        return self.box(Filter(name, predicate))

    def map(
        self,
        name: str,
        columns: Mapping[str, Value] | Function | None = None,
        /,
        *,
        keep: Sequence[str] | None = None,
        time_column: str | None = None,
        **more: Value,
    ) -> StreamHandle:
        """Compute columns of every tuple: `map("in_km", km="miles * 1.609")`.

        `keep` names the columns of the input that stay, `time_column` the column that is the time from here on.
        """
        kept = None if keep is None else tuple(keep)
        return self.box(Map(name, _values(columns, more), kept, time_column))

    def union(self, name: str, *others: StreamHandle) -> StreamHandle:
        """This stream and others in one, in the order of time."""
        streams = (self, *others)
        return self.network.box(Union(name, len(streams)), **{f"in{i}": stream for i, stream in enumerate(streams)})

    def group_by(self, *columns: str, name: str | None = None) -> StreamHandle:
        """Let all that follows work on each group of equal values in these columns; none: on all as one."""
        base = "by_" + "_".join(map(str, columns)) if columns else "ungrouped"
        return self.box(GroupBy(name or self.network.free_name(base), tuple(columns)))

    def tumble(
        self,
        name: str,
        values: Mapping[str, Value] | Function | None = None,
        /,
        *,
        every: Duration | None = None,
        size: int | None = None,
        **more: Value,
    ) -> StreamHandle:
        """Values over disjoint windows, by time (`every`) or by tuples (`size`): `peak="max(speed)"`."""
        return self.box(Tumble(name, _values(values, more), every, size))

    def slide(
        self,
        name: str,
        values: Mapping[str, Value] | Function | None = None,
        /,
        *,
        over: Duration | None = None,
        every: Duration | None = None,
        size: int | None = None,
        advance: int | None = None,
        **more: Value,
    ) -> StreamHandle:
        """Values over windows that advance: `over` a time, one `every` so much; or of `size` tuples, by `advance`."""
        return self.box(Slide(name, _values(values, more), over, every, size, advance))

    def latch(
        self,
        name: str,
        values: Mapping[str, str] | None = None,
        /,
        *,
        every: Duration | None = None,
        size: int | None = None,
        **more: str,
    ) -> StreamHandle:
        """Values over all tuples of a group so far, told after each window that has some."""
        return self.box(Latch(name, _values(values, more), every, size))

    def net(self, name: str) -> StreamHandle:
        """Of a signed stream, the changes of each instant without those that cancel."""
        return self.box(Net(name))

    def latest(self, name: str, *key: str, timeout: Duration | None = None) -> StreamHandle:
        """The latest tuple of each key, as a relation whose changes have signs; silent keys go after the timeout."""
        return self.box(Latest(name, tuple(key), timeout))

    def resample(
        self,
        name: str,
        columns: Mapping[str, str] | None = None,
        /,
        *,
        every: Duration,
        within: Duration,
        **more: str,
    ) -> StreamHandle:
        """A tuple at every multiple of `every`, interpolated where tuples are `within` reach: `speed="linear"`."""
        return self.box(Resample(name, (*(columns or {}).items(), *more.items()), every, within))

    def drop(self, name: str, rate: float, seed: int = 0) -> StreamHandle:
        """All but a share of the tuples, chosen by chance, the same in every run."""
        return self.box(Drop(name, rate, seed))

    def bsort(self, name: str, disorder: Duration, time: str | None = None) -> StreamHandle:
        """The stream in the order of its time (or of another column); `.late` are the tuples that came too late."""
        return self.box(BSort(name, disorder, time))

    def join(
        self, name: str, other: StreamHandle, *, within: Duration, on: str | None = None, time: str = "joined"
    ) -> StreamHandle:
        """Pairs of this stream's tuples with the other's, of one group, `within` so much time of each other."""
        return self.network.box(Join(name, within, on, time), **{LEFT: self, RIGHT: other})

    def match(self, name: str, other: StreamHandle, *, on: str | None = None) -> StreamHandle:
        """Pairs of rows that stand on both streams: `on="left.object = right.object"`. What leaves is signed."""
        return self.network.box(Match(name, on), **{LEFT: self, RIGHT: other})

    def distinct(self, name: str, by: Sequence[str] | None = None) -> StreamHandle:
        """Each row that stands once, by all columns or by some. What leaves is signed."""
        return self.box(Distinct(name, None if by is None else tuple(by)))

    def aggregate(self, name: str, values: Mapping[str, Value] | None = None, /, **more: Value) -> StreamHandle:
        """Values over what stands of each group, as rows come and go: `n="count(*)"`. What leaves is signed."""
        return self.box(Aggregate(name, _values(values, more)))

    def wait_for(self, name: str, predicate: str, until: StreamHandle, time: str = "released") -> StreamHandle:
        """The tuples, each held until the predicate is true for it and the latest of `until`; see `.unmet`."""
        return self.network.box(WaitFor(name, predicate, time), **{"in": self, UNTIL: until})

    def update_relation(
        self,
        name: str,
        relation: RelationHandle,
        values: Mapping[str, str] | None = None,
        /,
        *,
        delete: str | None = None,
        **more: str,
    ) -> StreamHandle:
        """Write the relation from this stream; gives the stream of its changes."""
        if relation.changes is not None:
            raise NetworkError(
                f"network {self.network.name!r}, box {name!r}: the relation {relation.relation.name!r} is updated by "
                f"{relation.changes.box!r} already; lead both streams into one with a Union"
            )
        if relation.read:
            raise NetworkError(
                f"network {self.network.name!r}, box {name!r}: the relation {relation.relation.name!r} is read by "
                f"{relation.read[0]!r}, which was drawn before; draw its update first"
            )
        pairs = (*(values or {}).items(), *more.items())
        changes = self.box(UpdateRelation(name, relation.relation, pairs, delete))
        relation.changes = changes.port
        return changes

    def read_relation(self, name: str, relation: RelationHandle, prefix: str = "") -> StreamHandle:
        """The tuples with the values that the relation has for their key at their time."""
        others: dict[str, StreamHandle] = {}
        if relation.changes is not None:
            others[CHANGES] = StreamHandle(self.network, relation.changes)
        made = self.box(ReadRelation(name, relation.relation, prefix, bool(others)), **others)
        relation.read.append(name)
        return made

    def connection_point(self, name: str, retention: Duration, storage_key: Sequence[str] = ()) -> StreamHandle:
        """The same stream, kept for some time where queries can be attached later."""
        return self.box(ConnectionPoint(name, retention, tuple(storage_key)))

    def output(self, name: str, qos: Delay | None = None) -> StreamHandle:
        """Deliver the stream under that name; gives the stream again, to draw on."""
        if not (qos is None or isinstance(qos, Delay)):
            raise NetworkError(
                f"network {self.network.name!r}, box {name!r}: expected qos=Delay(good, zero), got {qos!r}"
            )
        self.box(Output(name, () if qos is None else qos.graph))
        return self


@dataclass
class RelationHandle:
    """A relation of a network that is being drawn: where its changes come from, and who reads it."""

    relation: Relation
    changes: Port | None = None
    read: list[str] = field(default_factory=list)


def _values(given: Mapping[str, Any] | Function | None, more: Mapping[str, Any]) -> Values:
    if isinstance(given, Function):
        given = {given.produces.names[0]: given}
    if not (given is None or isinstance(given, Mapping)):
        raise NetworkError(f"expected a mapping of names to expressions, or a function, got {given!r}")
    return (*(given or {}).items(), *more.items())
