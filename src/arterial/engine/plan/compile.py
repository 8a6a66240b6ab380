"""The compiler: gives each box a place, gathers superboxes, stacks them in levels (decision 2).

A stateless box runs where its input is. A stateful box on a grouped stream runs in the shard of its key, one on an
ungrouped stream in slot 0; an ungrouped stream beside a grouped one may go to every slot. A box that regroups (GroupBy)
is where a stream changes its place; one whose key contains the columns by which the stream is sharded already stays
where it is. The compiler asks boxes for their traits and knows no kind of box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from arterial.engine.plan.plan import HEAD, Channel, Level, Merge, Plan, Route, Superbox, Where
from arterial.errors import NetworkError
from arterial.network.box import Box
from arterial.network.network import NetworkValue, Port

RAW = ""


def compile_network(
    network: NetworkValue, shards: int, *, in_arrival_order: Iterable[str] = (), split_sources: Iterable[str] = ()
) -> Plan:
    """Compile a network for a number of shards.

    `in_arrival_order` names the sources that must see all their tuples in one sequence because they put them in order,
    `split_sources` those that can deliver by slot; where all that their tuples go to is one key, they are read there.
    """
    if shards < 1:
        raise NetworkError(f"network {network.name!r}: the number of shards must be at least 1, got {shards}")
    _refuse_unsupported(network)
    ordering = frozenset(in_arrival_order)
    plan = _compile(_Compilation(network, ordering), shards)
    split = frozenset(split_sources) & frozenset(plan.source_keys)
    if split:
        plan = _by_slot(plan, split, ordering)
    _refuse_separated(plan)
    return plan


def _by_slot(plan: Plan, split: frozenset[str], in_arrival_order: frozenset[str]) -> Plan:
    """The plan in which these sources are read where their tuples are wanted."""
    there = {
        superbox.boxes[0].name: _groupers_behind(plan, superbox)
        for superbox in plan.head.superboxes
        if superbox.boxes[0].name in split
    }
    by_slot = _compile(_Compilation(plan.network, in_arrival_order, there), plan.shards)
    return replace(by_slot, source_keys=plan.source_keys, split_sources=split)


def _compile(work: _Compilation, shards: int) -> Plan:
    network = work.network
    work.find_lineages()
    work.align_lineages()
    for box in network.order:
        work.settle(box)
    superboxes = work.superboxes()
    channels = work.channels()
    last = max((superbox.level for superbox in superboxes), default=HEAD)

    def level(number: int) -> Level:
        return Level(
            number,
            tuple(superbox for superbox in superboxes if superbox.level == number),
            tuple(channel for channel in channels if channel.to_level == number),
            tuple(channel for channel in channels if channel.from_level == number),
        )

    levels = tuple(level(number) for number in range(last + 1))
    plan = Plan(network, shards, level(HEAD), levels, fed_through=work.fed_through, sharded_by=work.sharded_by())
    return replace(plan, source_keys=_source_keys(plan))


@dataclass(frozen=True)
class _Place:
    level: int
    where: Where
    lineage: str = ""


@dataclass
class _Compilation:
    """The tables that the compiler fills, box by box."""

    network: NetworkValue
    in_arrival_order: frozenset[str]
    split_sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The sources that deliver by slot, each with the GroupBys that want its tuples in the slots of their key."""
    places: dict[str, _Place] = field(default_factory=dict)
    lineage_of: dict[Port, str] = field(default_factory=dict)
    """For each grouped stream the GroupBy that it goes back to, or one that represents several that meet in a box."""
    meets: dict[str, str] = field(default_factory=dict)
    positions: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """For each lineage, which of its key columns its shards are made by; all, unless fewer save a shuffle."""
    aligned: set[str] = field(default_factory=set)
    """The GroupBys that need no shuffle."""
    fed_through: dict[tuple[str, Port], int] = field(default_factory=dict)
    """The number of the channel for each box and stream that comes by one."""

    def find_lineages(self) -> None:
        """Follow every grouped stream back to its GroupBy; those that meet in one box share their shards."""
        for box in self.network.order:
            inputs = self.network.arrivals(box)
            if box.regroups:
                self.meets[box.name] = box.name
                lineage = box.name
            else:
                above = [self.root(self.lineage_of[port]) for port in inputs.values() if port in self.lineage_of]
                lineage = above[0] if above else ""
                if self.is_keyed(box):
                    for other in above[1:]:
                        self.meets[self.root(other)] = self.root(lineage)
            for port in box.outputs:
                if lineage and self.network.streams[Port(box.name, port)].keyed_by:
                    self.lineage_of[Port(box.name, port)] = lineage

    def align_lineages(self) -> None:
        """Keep a stream that is grouped again where it is, if its shards are made by columns of the new key as well."""
        groupers = [box for box in self.network.order if box.regroups and self.key_of(box)]
        for box in groupers:
            lineage = self.root(box.name)
            wanted: set[tuple[int, ...] | None] = set()
            for member in groupers:
                if self.root(member.name) == lineage and (above := self.above(member)) and above in self.lineage_of:
                    wanted.add(self.alignment(member, above))
            if lineage not in self.positions:
                only = wanted.pop() if len(wanted) == 1 else None
                self.positions[lineage] = only if only is not None else tuple(range(len(self.key_of(box))))
            above = self.above(box)
            if above in self.lineage_of and self.alignment(box, above) == self.positions[lineage]:
                self.aligned.add(box.name)
        self.aligned.update(name for groupers in self.split_sources.values() for name in groupers)

    def alignment(self, box: Box, above: Port) -> tuple[int, ...] | None:
        """Where in the box's key the columns stand that its input is sharded by, or None if one is missing."""
        lineage = self.root(self.lineage_of[above])
        keyed_by = self.network.streams[above].keyed_by
        if lineage not in self.positions or lineage == self.root(box.name):
            return None
        try:
            key = self.key_of(box)
            return tuple(key.index(keyed_by[position]) for position in self.positions[lineage])
        except (ValueError, IndexError):
            return None

    def settle(self, box: Box) -> None:
        """Give a box its level and place, from those of the boxes that feed it."""
        above = [(begin, self.places[begin.box]) for begin in self.network.arrivals(box).values()]
        if not above:
            self.places[box.name] = self.place_of_source(box.name)
            return
        if self.goes_along(box):
            self.places[box.name] = above[0][1]
            return
        if box.regroups:
            goal = _Place(0, Where.KEY, self.root(box.name)) if self.key_of(box) else _Place(0, Where.ONE)
        elif self.is_keyed(box):
            goal = _Place(0, Where.KEY, self.root(next(self.lineage_of[p] for p, _ in above if p in self.lineage_of)))
        else:
            goal = _Place(0, Where.ONE)
        for _, place in above:
            stays = self.shares_slots(place, goal, box)
            goal = replace(goal, level=max(goal.level, place.level if stays else place.level + 1))
        self.places[box.name] = goal

    def place_of_source(self, name: str) -> _Place:
        """In the head, unless its tuples must be put in order first, or are wanted by slot and can be had so."""
        if name in self.in_arrival_order:
            return _Place(0, Where.ONE)
        if name in self.split_sources:
            return _Place(0, Where.KEY, self.root(self.split_sources[name][0]))
        return _Place(HEAD, Where.PIECES)

    def shares_slots(self, place: _Place, goal: _Place, box: Box) -> bool:
        """Whether what is at a place is in the right slot for the box already."""
        if place.where is Where.PIECES or place.where is not goal.where:
            return False
        return place.where is Where.ONE or place.lineage == goal.lineage or box.name in self.aligned

    def superboxes(self) -> list[Superbox]:
        """The connected boxes of each level and place."""
        group: dict[str, str] = {}

        def root(name: str) -> str:
            while group.setdefault(name, name) != name:
                name = group[name]
            return name

        for arc in self.network.arcs:
            if not self.crosses(arc.begin.box, arc.end.box):
                group[root(arc.end.box)] = root(arc.begin.box)
        members: dict[str, list[Box]] = {}
        for box in self.network.order:
            members.setdefault(root(box.name), []).append(box)
        return [self.superbox(boxes) for boxes in members.values()]

    def superbox(self, boxes: list[Box]) -> Superbox:
        place = self.places[boxes[0].name]
        key: tuple[str, ...] = ()
        if place.where is Where.KEY:
            grouper = next((box for box in boxes if box.regroups), None)
            key = self.shard_columns(grouper or self.network.box(place.lineage))
        return Superbox(boxes[0].name, place.level, place.where, tuple(boxes), key)

    def channels(self) -> list[Channel]:
        """One channel for each stream, level and manner in which it must be sent on."""
        found: dict[tuple[object, ...], Channel] = {}
        for box in self.network.order:
            place = self.places[box.name]
            for port, begin in self.network.arrivals(box).items():
                above = self.places[begin.box]
                if not self.crosses(begin.box, box.name):
                    continue
                stream = self.network.streams[begin]
                columns: tuple[str, ...] = ()
                if self.shares_slots(above, place, box):
                    route = Route.SAME
                elif place.where is Where.ONE:
                    route = Route.FIRST
                elif port in box.everywhere and not stream.keyed_by:
                    route = Route.ALL
                else:
                    route, columns = Route.SPLIT, self.shard_columns(box)
                merge = _merge(above.where, route, box)
                identity = (begin, place.level, route, columns, merge)
                if identity not in found:
                    found[identity] = Channel(
                        len(found), begin, stream, above.level, place.level, above.where, route, merge, columns
                    )
                self.fed_through[box.name, begin] = found[identity].number
        return self.raw_channels(list(found.values()))

    def raw_channels(self, channels: list[Channel]) -> list[Channel]:
        """Add the channels by which a source that puts its tuples in order receives them as they arrive."""
        for name in sorted(self.in_arrival_order):
            begin = Port(name, self.network.box(name).outputs[0])
            stream = replace(self.network.streams[begin], ordered=False)
            self.fed_through[name, raw_port(name)] = len(channels)
            channels.append(
                Channel(len(channels), raw_port(name), stream, HEAD, 0, Where.PIECES, Route.FIRST, Merge.SEQUENCE)
            )
        return channels

    def crosses(self, above: str, below: str) -> bool:
        """Whether the arc between two boxes leads to another superbox."""
        one, other = self.places[above], self.places[below]
        if one.level != other.level:
            return True
        return not (self.goes_along(self.network.box(below)) or self.shares_slots(one, other, self.network.box(below)))

    def goes_along(self, box: Box) -> bool:
        """Whether a box runs wherever its one input is: stateless boxes and the ends of streams."""
        if box.regroups or len(box.inputs) != 1:
            return False
        return box.stateless or not box.outputs

    def is_keyed(self, box: Box) -> bool:
        """Whether all streams that a stateful box reads are grouped, but for those that every shard gets whole."""
        inputs = self.network.arrivals(box)
        grouped = {port for port, begin in inputs.items() if self.network.streams[begin].keyed_by}
        return bool(grouped) and inputs.keys() - grouped <= box.everywhere

    def key_of(self, grouper: Box) -> tuple[str, ...]:
        return self.network.streams[Port(grouper.name, grouper.outputs[0])].keyed_by

    def shard_columns(self, grouper: Box) -> tuple[str, ...]:
        key = self.key_of(grouper)
        return tuple(key[position] for position in self.positions[self.root(grouper.name)])

    def sharded_by(self) -> dict[Port, tuple[str, ...]]:
        """The columns of each grouped stream by which its tuples are in slots."""
        found = {}
        for port, lineage in self.lineage_of.items():
            key, positions = self.network.streams[port].keyed_by, self.positions.get(self.root(lineage))
            if positions is not None and max(positions, default=-1) < len(key):
                found[port] = tuple(key[position] for position in positions)
        return found

    def above(self, box: Box) -> Port:
        return self.network.arrival(box.name)

    def root(self, lineage: str) -> str:
        while self.meets[lineage] != lineage:
            lineage = self.meets[lineage]
        return lineage


def raw_port(source: str) -> Port:
    """The name under which the tuples of a source travel before the source has put them in order."""
    return Port(source, RAW)


def _merge(above: Where, route: Route, box: Box) -> Merge:
    if above is not Where.KEY or route is Route.SAME:
        return Merge.SEQUENCE
    return Merge.TIME if box.regroups else Merge.VALUES


def _source_keys(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The sources whose tuples are all wanted in the slot of their key only, by columns that no box before changes."""
    found: dict[str, tuple[str, ...]] = {}
    for superbox in plan.head.superboxes:
        source = superbox.boxes[0]
        leaving = [c for c in plan.head.departures if any(c.begin.box == box.name for box in superbox.boxes)]
        keys = {channel.columns for channel in leaving if channel.route is Route.SPLIT}
        ends = [box for box in superbox.boxes if not box.outputs]
        if len(keys) == 1 and len(leaving) and all(c.route is Route.SPLIT for c in leaving) and not ends:
            key = keys.pop()
            if all(_unchanged(plan.network, superbox, channel.begin, key) for channel in leaving):
                found[source.name] = key
    return found


def _groupers_behind(plan: Plan, superbox: Superbox) -> tuple[str, ...]:
    """The boxes of other levels that get what leaves a superbox: where a stream is split these are GroupBys."""
    inside = {box.name for box in superbox.boxes}
    return tuple(arc.end.box for arc in plan.network.arcs if arc.begin.box in inside and arc.end.box not in inside)


def _unchanged(network: NetworkValue, superbox: Superbox, port: Port, columns: tuple[str, ...]) -> bool:
    """Whether columns of a stream are the source's own, untouched by the stateless boxes between."""
    inside = {box.name: box for box in superbox.boxes}
    while network.arrivals(inside[port.box]):
        box = inside[port.box]
        above = network.arrival(box.name)
        before, after = network.streams[above].schema, network.streams[port].schema
        touched = box.changes(network.streams[above])
        for name in columns:
            if name not in before or before[name] is not after[name] or name in touched:
                return False
        port = above
    return True


def _refuse_unsupported(network: NetworkValue) -> None:
    for box in network.boxes:
        if not box.inputs and len(box.outputs) < 1:
            raise NetworkError(f"network {network.name!r}, box {box.name!r}: it has neither inputs nor outputs")
    if not any(not box.inputs for box in network.boxes):
        raise NetworkError(f"network {network.name!r} has no source; nothing would ever flow")
    if not any(not box.outputs for box in network.boxes):
        raise NetworkError(f"network {network.name!r} has no output; nothing would ever leave it")


def _refuse_separated(plan: Plan) -> None:
    """Raise if a box is in another superbox than a neighbour that it says it is inseparable from."""
    for arc in sorted(plan.network.inseparable):
        one, other = plan.superbox_of(arc.begin.box), plan.superbox_of(arc.end.box)
        if one is not other:
            raise NetworkError(
                f"network {plan.network.name!r}: box {arc.end.box!r} cannot be separated from box {arc.begin.box!r}, "
                f"which feeds its input {arc.end.port!r}; expected both in one superbox, got {arc.begin.box!r} in "
                f"{one.place} and {arc.end.box!r} in {other.place}; group both by the same columns, before "
                f"{arc.begin.box!r}"
            )
