"""A stream of a network that is being drawn: a method for each box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arterial.boxes.ends.connection_point import ConnectionPoint
from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import LATE
from arterial.boxes.ends.view import NONE, View
from arterial.boxes.joins.follow import Follow
from arterial.boxes.joins.join import LEFT, RIGHT, Join
from arterial.boxes.joins.previous import Previous
from arterial.boxes.relations.read_relation import CHANGES, ReadRelation
from arterial.boxes.relations.update_relation import UpdateRelation
from arterial.boxes.relations.wait_for import UNMET, UNTIL, WaitFor
from arterial.boxes.signed.aggregate import Aggregate
from arterial.boxes.signed.distinct import Distinct
from arterial.boxes.signed.latest import Latest
from arterial.boxes.signed.leaders import Leaders
from arterial.boxes.signed.match import Match
from arterial.boxes.signed.net import Net
from arterial.boxes.tuples.bsort import BSort
from arterial.boxes.tuples.deduplicate import Deduplicate
from arterial.boxes.tuples.drop import Drop
from arterial.boxes.tuples.filter import OTHERWISE, Filter
from arterial.boxes.tuples.group_by import GroupBy
from arterial.boxes.tuples.map import Map
from arterial.boxes.tuples.union import Union
from arterial.boxes.windows.in_a_row import InARow
from arterial.boxes.windows.latch import Latch
from arterial.boxes.windows.resample import Resample
from arterial.boxes.windows.session import Session
from arterial.boxes.windows.slide import Slide
from arterial.boxes.windows.top import Top
from arterial.boxes.windows.tumble import Tumble
from arterial.drawing.relation import RelationHandle
from arterial.errors import NetworkError
from arterial.network.box import Box, Stream
from arterial.network.drawn_at import names_the_line
from arterial.network.duration import Duration
from arterial.network.expression.aggregate import Values
from arterial.network.expression.function import Function
from arterial.network.network import Port
from arterial.network.qos import Delay, QoS
from arterial.network.schema import Schema

if TYPE_CHECKING:
    from arterial.drawing.network import Network

Value = str | Function


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

    def session(
        self,
        name: str,
        values: Mapping[str, Value] | Function | None = None,
        /,
        *,
        gap: Duration,
        tuples: bool = False,
        **more: Value,
    ) -> StreamHandle:
        """Values over sessions, tuples of a group at most `gap` apart; `tuples`: each of them, with those values."""
        return self.box(Session(name, _values(values, more), gap, tuples))

    def top(
        self, name: str, k: int, by: str, every: Duration, *, ascending: bool = False, rank: str = "rank"
    ) -> StreamHandle:
        """The k tuples of each window that are greatest by an expression, with their place."""
        return self.box(Top(name, k, by, every, ascending, rank))

    def leaders(self, name: str, k: int, by: str, *, ascending: bool = False) -> StreamHandle:
        """The k rows that stand which are greatest by an expression, as rows come and go. What leaves is signed."""
        return self.box(Leaders(name, k, by, ascending))

    def in_a_row(self, name: str, predicate: Value, n: int, *, further: bool = False) -> StreamHandle:
        """The tuple with which the predicate is true for `n` tuples of the group in a row; `further`: and all after."""
        return self.box(InARow(name, predicate, n, further))

    def previous(
        self, name: str, values: Mapping[str, str] | None = None, /, *, within: Duration | None = None, **more: str
    ) -> StreamHandle:
        """Each tuple with values of the tuple before it in its group, if that is at most `within` ago."""
        return self.box(Previous(name, (*(values or {}).items(), *more.items()), within))

    def deduplicate(self, name: str, *key: str, within: Duration) -> StreamHandle:
        """The first tuple of each key; others of the key are left out for the time `within`."""
        return self.box(Deduplicate(name, tuple(key), within))

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
        self,
        name: str,
        other: StreamHandle,
        *,
        within: Duration,
        on: str | None = None,
        time: str = "joined",
        after: Duration | None = None,
    ) -> StreamHandle:
        """Pairs of this stream's tuples with the other's, of one group, `within` so much time of each other."""
        return self.network.box(Join(name, within, on, time, after), **{LEFT: self, RIGHT: other})

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

    def read_relation(
        self, name: str, relation: RelationHandle, prefix: str = "", *, before: bool = False
    ) -> StreamHandle:
        """The tuples with the values that the relation has for their key at their time, or just `before` it."""
        others: dict[str, StreamHandle] = {}
        if relation.changes is not None:
            others[CHANGES] = StreamHandle(self.network, relation.changes)
        made = self.box(ReadRelation(name, relation.relation, prefix, bool(others), before), **others)
        relation.read.append(name)
        return made

    def follow(
        self,
        name: str,
        relation: RelationHandle,
        begin: Mapping[str, str],
        each: Mapping[str, str],
        until: str,
        *,
        most: int = 1000,
    ) -> StreamHandle:
        """Each tuple at the end of its way through the relation: it `begin`s, takes `each` row, `until` it ends."""
        others: dict[str, StreamHandle] = {}
        if relation.changes is not None:
            changes = StreamHandle(self.network, relation.changes)
            if changes.type.keyed_by != self.type.keyed_by:
                changes = changes.group_by(*self.type.keyed_by, name=self.network.free_name(f"{name}_rows"))
            others[CHANGES] = changes
        pairs = (tuple(begin.items()), tuple(each.items()))
        made = self.box(Follow(name, relation.relation, *pairs, until, most, bool(others)), **others)
        relation.read.append(name)
        return made

    def connection_point(self, name: str, retention: Duration, storage_key: str | Sequence[str] = ()) -> StreamHandle:
        """The same stream, kept for some time where queries can be attached later."""
        return self.box(ConnectionPoint(name, retention, _columns(storage_key)))

    def view(
        self,
        name: str,
        materialise: str = NONE,
        retention: Duration = "1 hour",
        storage_key: str | Sequence[str] = (),
        qos: Delay | QoS | None = None,
    ) -> StreamHandle:
        """Name the stream, so that one can connect to it later; `materialise` says whether it is kept."""
        asked = self._quality(name, qos)
        column, value = asked.value or (None, ())
        graphs = (asked.graph, tuple(asked.share), column, tuple(value), asked.weight)
        return self.box(View(name, materialise, retention, _columns(storage_key), *graphs))

    def output(self, name: str, qos: Delay | QoS | None = None) -> StreamHandle:
        """Deliver the stream under that name; gives the stream again, to draw on."""
        asked = self._quality(name, qos)
        column, value = asked.value or (None, ())
        self.box(Output(name, asked.graph, tuple(asked.share), column, tuple(value), asked.weight))
        return self

    def _quality(self, name: str, qos: Delay | QoS | None) -> QoS:
        if not (qos is None or isinstance(qos, Delay | QoS)):
            raise NetworkError(
                f"network {self.network.name!r}, box {name!r}: expected qos=Delay(good, zero) or QoS(…), got {qos!r}"
            )
        return QoS(qos) if isinstance(qos, Delay) else qos or QoS()


def _columns(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _values(given: Mapping[str, Any] | Function | None, more: Mapping[str, Any]) -> Values:
    if isinstance(given, Function):
        given = {given.produces.names[0]: given}
    if not (given is None or isinstance(given, Mapping)):
        raise NetworkError(f"expected a mapping of names to expressions, or a function, got {given!r}")
    return (*(given or {}).items(), *more.items())
