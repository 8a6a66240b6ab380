"""Runs superboxes: pure functions of (state, trains), the same on every host.

A host brings the parcels that arrived in a slot and the state of its boxes; `run_level` gives back parcels for
later levels, the trains that leave the network, and what it cost. Nothing here knows Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from arterial.boxes.ends.source import ARRIVALS
from arterial.connectors.source import Reading
from arterial.engine.host.arc_steering import ArcOutcome, ArcSteering, StepSteering
from arterial.engine.host.failures import FAIL, Reject, process_guarded
from arterial.engine.plan.compile import RAW, raw_port
from arterial.engine.plan.plan import Channel, Plan, Superbox, Where
from arterial.engine.transport.parcels import Parcel, receive, send
from arterial.network.box import Box
from arterial.network.network import Arc, Port
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train, coupled

ORDERED = "ordered"
"""The pseudo input of a source whose tuples come in order and complete."""

Trains = dict[Port | int, Train]
"""The trains of a level: those made there by port, those that arrived by the number of their channel."""

States = Callable[[str], State]
"""Gives the state of a box, by its name, in the slot at hand."""


@dataclass
class Counts:
    """What one box did in one step, in one slot."""

    tuples_in: dict[str, int] = field(default_factory=dict)
    tuples_out: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, other: Counts) -> None:
        """Count what was done in another step, in another slot, or on the next train."""
        for mine, others in ((self.tuples_in, other.tuples_in), (self.tuples_out, other.tuples_out)):
            for port, number in others.items():
                mine[port] = mine.get(port, 0) + number
        self.seconds += other.seconds


@dataclass
class Outcome:
    """What a level gave in one step, in one slot."""

    parcels: list[Parcel] = field(default_factory=list)
    deliveries: dict[str, Train] = field(default_factory=dict)
    """The trains that arrived at outputs and at boxes that keep tuples, by the name of the box."""
    counts: dict[str, Counts] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    passed: ArcOutcome = field(default_factory=ArcOutcome)
    """What became of tuples on arcs that are steered."""
    seconds: float = 0.0
    """How long it took, from the first box to the last; where the host delivers by itself, that too."""

    def spend(self, box: str, began: float) -> None:
        """Count the time since a moment of `perf_counter` as a cost of a box."""
        self.counts.setdefault(box, Counts()).seconds += time.perf_counter() - began


def run_level(
    plan: Plan,
    number: int,
    slot: int,
    parcels: Iterable[Parcel],
    states: States,
    *,
    sources: Mapping[str, Iterable[Train]] | None = None,
    policy: str = FAIL,
    steered: StepSteering | None = None,
) -> Outcome:
    """Run all superboxes of a level in one slot, on the parcels that arrived there, as the step is `steered`.

    `sources` are the trains of the sources that are read here: pieces in the head (level -1), which gets no parcels,
    and what belongs to this slot in level 0. A source may give several, one after the other.
    """
    began = time.perf_counter()
    level, sources = plan.level(number), sources or {}
    arcs = ArcSteering(plan, number, slot, steered or StepSteering(), states)
    outcome = Outcome(passed=arcs.passed)
    sources = {name: _Timed(name, trains, outcome) for name, trains in sources.items()}
    arrived = _arrived(plan, number, slot, parcels, states)
    leaving = {channel.begin for channel in level.departures}
    departed: dict[Port, list[Train]] = {
        raw_port(name): list(trains) for name, trains in sources.items() if raw_port(name) in leaving
    }
    delivered: dict[str, list[Train]] = {}
    for superbox in level.superboxes:
        if superbox.where is Where.ONE and slot != 0:
            continue
        for entering in _entering(plan, superbox, sources):
            trains: Trains = dict(arrived.items())
            for box in superbox.boxes:
                _run_box(plan, box, trains, states, entering, outcome, delivered, policy, arcs)
            for port in leaving & trains.keys():
                departed.setdefault(port, []).append(trains[port])
    for channel in level.departures:
        if channel.begin in departed:
            leaves = arcs.depart(channel, coupled(departed[channel.begin]))
            outcome.parcels += send(channel, slot, plan.shards, leaves)
    outcome.deliveries = {name: coupled(trains) for name, trains in delivered.items()}
    outcome.seconds = time.perf_counter() - began
    return outcome


@dataclass(frozen=True)
class _Timed:
    """The trains of a source; how long it takes to read them is the source's own cost."""

    name: str
    trains: Iterable[Train]
    outcome: Outcome

    def __iter__(self) -> Iterator[Train]:
        began = time.perf_counter()
        for train in self.trains:
            self.outcome.spend(self.name, began)
            yield train
            began = time.perf_counter()
        if isinstance(self.trains, Reading) and (arc := self.trains.arc):
            shed, skipped = self.outcome.passed.shed, self.trains.skipped
            self.outcome.passed.unread[self.name] = skipped
            if skipped:
                shed[arc] = shed.get(arc, 0) + skipped
        self.outcome.spend(self.name, began)


def _entering(plan: Plan, superbox: Superbox, sources: Mapping[str, Iterable[Train]]) -> Iterable[Mapping[str, Train]]:
    """What a superbox's own sources give, train after train.

    Where a source meets another stream its trains are coupled: boxes get all of their inputs for the same span of time.
    """
    read = {box.name: sources[box.name] for box in superbox.boxes if box.name in sources}
    meets_others = any((box.name, begin) in plan.fed_through for box in superbox.boxes for begin in _begins(plan, box))
    if len(read) == 1 and not meets_others:
        ((name, trains),) = read.items()
        return ({name: train} for train in trains)
    return [{name: coupled(list(trains)) for name, trains in read.items()}]


def _begins(plan: Plan, box: Box) -> Iterable[Port]:
    return plan.network.arrivals(box).values()


def _arrived(plan: Plan, number: int, slot: int, parcels: Iterable[Parcel], states: States) -> dict[int, Train]:
    waiting: dict[int, list[Parcel]] = {}
    for parcel in parcels:
        waiting.setdefault(parcel.channel, []).append(parcel)
    trains: dict[int, Train] = {}
    for channel in plan.level(number).arrivals:
        if slot not in _receivers(channel, plan.shards):
            continue
        got = waiting.get(channel.number, [])
        expected = channel.senders(plan.shards, slot)
        if channel.begin.port == RAW:
            # What Spark's own sources give comes from as many partitions as they please, maybe none.
            got = got or [Parcel(channel.number, 0, slot, Train(channel.stream.schema.empty(), BEGIN))]
        elif sorted(parcel.sender for parcel in got) != list(expected):
            raise AssertionError(
                f"slot {slot} of level {number}: {channel.begin} came from {[p.sender for p in got]}, not {expected}"
            )
        trains[channel.number] = receive(channel, got, states(channel.waits))
    return trains


def _receivers(channel: Channel, shards: int) -> set[int]:
    senders = (0,) if channel.from_where is Where.ONE else range(shards)
    return {receiver for sender in senders for receiver in channel.receivers(shards, sender)}


def _run_box(
    plan: Plan,
    box: Box,
    trains: Trains,
    states: States,
    entering: Mapping[str, Train],
    outcome: Outcome,
    delivered: dict[str, list[Train]],
    policy: str,
    arcs: ArcSteering,
) -> None:
    counts = Counts()

    def arrived(begin: Port) -> Train:
        number = plan.fed_through.get((box.name, begin))
        return trains[begin if number is None else number]

    if not box.inputs:
        inputs = {ORDERED: entering[box.name]} if box.name in entering else {ARRIVALS: arrived(raw_port(box.name))}
    else:
        inputs = {
            port: arcs.arrive(Arc(begin, Port(box.name, port)), arrived(begin))
            for port, begin in plan.network.arrivals(box).items()
        }
    counts.tuples_in = {port: len(train) for port, train in inputs.items()}
    if box.name in plan.delivering:
        delivered.setdefault(box.name, []).append(inputs[box.inputs[0]])
    if not box.outputs:
        outputs: Mapping[str, Train] = {}
    elif not box.inputs and ORDERED in inputs:
        outputs = _enter(plan, box, inputs[ORDERED])
        counts.tuples_in = {}
    else:
        began = time.perf_counter()
        outputs = process_guarded(plan.network, box, inputs, states(box.name), outcome.rejects, policy)
        counts.seconds = time.perf_counter() - began
    for port, train in outputs.items():
        counts.tuples_out[port] = len(train)
        trains[Port(box.name, port)] = train
    outcome.counts.setdefault(box.name, Counts()).add(counts)


def _enter(plan: Plan, box: Box, train: Train) -> dict[str, Train]:
    """A source's train is what its first port gives; its other port gives what came too late for it."""
    first, *others = box.outputs
    through = END if train.through == END else BEGIN
    rest = {
        port: Train(
            plan.network.streams[Port(box.name, port)].schema.empty() if train.late is None else train.late, through
        )
        for port in others
    }
    return {first: train, **rest}
