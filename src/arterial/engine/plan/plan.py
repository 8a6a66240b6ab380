"""The plan of a network: its superboxes, stacked in levels, and the channels between them (decision 2).

This is what `compile` makes, what every host runs and what `explain` prints: plain data, without Spark in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from arterial.network.box import Box, Stream
from arterial.network.network import Arc, NetworkValue, Port

HEAD = -1
"""The level of what runs before the first shuffle: sources that are read in pieces and the stateless boxes behind."""


class Where(StrEnum):
    """Where the boxes of a superbox run."""

    PIECES = "pieces"  # in every slot, on a contiguous piece of the source's train
    KEY = "key"  # in every slot, on the tuples whose key belongs to it
    ONE = "one"  # in slot 0


class Route(StrEnum):
    """Which slot of the receiving level a tuple goes to."""

    SPLIT = "split"  # that of its key
    SAME = "same"  # that in which it is
    FIRST = "first"  # slot 0
    ALL = "all"  # every one


class Merge(StrEnum):
    """How a receiver puts the trains of several senders together."""

    SEQUENCE = "sequence"  # one after the other: they are pieces of one sequence
    TIME = "time"  # by time; who comes first at equal time is decided by the box behind (GroupBy)
    VALUES = "values"  # by time, then by value: deterministic whatever the number of shards


@dataclass(frozen=True)
class Channel:
    """The way of a stream from one level to a later one."""

    number: int
    begin: Port
    stream: Stream
    from_level: int
    to_level: int
    from_where: Where
    route: Route
    merge: Merge
    columns: tuple[str, ...] = ()

    @property
    def waits(self) -> str:
        """The name under which what waits at its end is kept."""
        return f"{self.begin}→{self.to_level}{self.route}{','.join(self.columns)}"

    def senders(self, shards: int, slot: int) -> tuple[int, ...]:
        """The slots whose trains a receiving slot must have before it can go on."""
        if self.from_where is Where.ONE:
            return (0,)
        return (slot,) if self.route is Route.SAME else tuple(range(shards))

    def receivers(self, shards: int, slot: int) -> tuple[int, ...]:
        """The slots that a sending slot sends to."""
        if self.route is Route.FIRST:
            return (0,)
        return (slot,) if self.route is Route.SAME else tuple(range(shards))


@dataclass(frozen=True)
class Superbox:
    """Connected boxes of one level and place, a pure function of (state, trains): no shuffle inside."""

    name: str
    level: int
    where: Where
    boxes: tuple[Box, ...]
    key: tuple[str, ...] = ()

    @property
    def stateful(self) -> tuple[str, ...]:
        """The names of its boxes that keep state."""
        return tuple(box.name for box in self.boxes if not box.stateless and not box.regroups)

    @property
    def place(self) -> str:
        """Where it runs, for people: "level 1, by vehicle"."""
        level = "source" if self.level == HEAD else f"level {self.level}"
        if self.where is Where.KEY:
            return f"{level}, by {', '.join(self.key)}"
        return f"{level}, one slot" if self.where is Where.ONE else level


@dataclass(frozen=True)
class Level:
    """The superboxes that one Spark step runs, and the channels that lead to it and away from it."""

    number: int
    superboxes: tuple[Superbox, ...]
    arrivals: tuple[Channel, ...]
    departures: tuple[Channel, ...]


@dataclass(frozen=True)
class Plan:
    """A compiled network. `head` is level -1; `levels` are 0, 1, …, one shuffle before each."""

    network: NetworkValue
    shards: int
    head: Level
    levels: tuple[Level, ...]
    source_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The sources of which every tuple is wanted in the slot of its key and nowhere else, and that key."""
    fed_through: Mapping[tuple[str, Port], int] = field(default_factory=dict)
    """The number of the channel by which a box (its name) gets the stream of a port, where it comes by one."""
    sharded_by: Mapping[Port, tuple[str, ...]] = field(default_factory=dict)
    """For each grouped stream the columns whose values say in which slot a tuple is."""
    split_sources: frozenset[str] = frozenset()
    """Those of `source_keys` that can deliver by slot: each slot of level 0 reads what is its own, nothing is sent."""

    @property
    def sources(self) -> tuple[Box, ...]:
        """The boxes where streams enter."""
        return tuple(box for box in self.network.boxes if not box.inputs)

    @property
    def outputs(self) -> tuple[Box, ...]:
        """The boxes where streams leave."""
        return tuple(box for box in self.network.boxes if not box.outputs)

    def level(self, number: int) -> Level:
        """The level of that number; -1 is the head."""
        return self.head if number == HEAD else self.levels[number]

    def superbox_of(self, box: str) -> Superbox:
        """The superbox that a box is part of."""
        return next(
            superbox
            for level in (self.head, *self.levels)
            for superbox in level.superboxes
            if any(member.name == box for member in superbox.boxes)
        )

    def level_of(self, box: str) -> int:
        """The level in which a box runs."""
        return self.superbox_of(box).level

    @cached_property
    def delivering(self) -> frozenset[str]:
        """The names of the boxes whose input is delivered to a sink: outputs, and boxes that keep tuples."""
        return frozenset(self.network.delivering)

    @cached_property
    def arc_names(self) -> Mapping[Port, str]:
        """The name of each arc, by the port at which it ends."""
        return {arc.end: str(arc) for arc in self.network.arcs}

    def only_arc(self, channel: Channel) -> Arc | None:
        """The one arc whose tuples a channel brings; None if it brings those of several, or of none."""
        return self._only_arcs.get(channel.number)

    def sent_alone(self, arc: Arc) -> bool:
        """Whether an arc's tuples cross to another level by a channel that brings no other arc's."""
        number = self.fed_through.get((arc.end.box, arc.begin))
        return number is not None and number in self._only_arcs

    @cached_property
    def _only_arcs(self) -> Mapping[int, Arc]:
        arcs: dict[int, list[Arc]] = {}
        for arc in self.network.arcs:
            if (number := self.fed_through.get((arc.end.box, arc.begin))) is not None:
                arcs.setdefault(number, []).append(arc)
        return {number: found[0] for number, found in arcs.items() if len(found) == 1}

    def describe(self) -> dict[str, Any]:
        """The plan as plain data, for `explain`."""
        return {
            "network": self.network.name,
            "shards": self.shards,
            "shuffles": len(self.levels),
            "split at source": {name: list(self.source_keys[name]) for name in sorted(self.split_sources)},
            "levels": [_describe(level) for level in (self.head, *self.levels) if level.superboxes],
        }


def _describe(level: Level) -> dict[str, Any]:
    return {
        "level": "source" if level.number == HEAD else level.number,
        "superboxes": [
            {
                "name": superbox.name,
                "where": str(superbox.where),
                "key": list(superbox.key),
                "boxes": [{"name": box.name, "kind": box.kind} for box in superbox.boxes],
                "state": list(superbox.stateful),
            }
            for superbox in level.superboxes
        ],
        "sends": [
            {
                "stream": str(channel.begin),
                "to level": channel.to_level,
                "route": str(channel.route),
                "by": list(channel.columns),
            }
            for channel in level.departures
        ],
    }
