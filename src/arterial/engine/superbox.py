"""Runs superboxes: pure functions of (state, trains), the same on every host.

A host brings the parcels that arrived in a slot and the state of its boxes; `run_level` gives back parcels for
later levels, the trains that leave the network, and what it cost. Nothing here knows Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from arterial.engine.arrivals import Parcel, receive, send
from arterial.engine.compile import RAW, raw_port
from arterial.engine.failures import FAIL, Reject, process_guarded
from arterial.engine.plan import Channel, Plan, Where
from arterial.network.box import Box
from arterial.network.network import Port
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

CONNECTION_POINT = "connection_point"
ARRIVALS = "arrivals"
"""The pseudo input of a source that has to put its tuples in order."""
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


@dataclass
class Outcome:
    """What a level gave in one step, in one slot."""

    parcels: list[Parcel] = field(default_factory=list)
    deliveries: dict[str, Train] = field(default_factory=dict)
    """The trains that arrived at outputs and passed connection points, by the name of the box."""
    counts: dict[str, Counts] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)


def run_level(
    plan: Plan,
    number: int,
    slot: int,
    parcels: Iterable[Parcel],
    states: States,
    *,
    sources: Mapping[str, Train] | None = None,
    policy: str = FAIL,
) -> Outcome:
    """Run all superboxes of a level in one slot, on the parcels that arrived there.

    `sources` are the trains of the sources that are read here: pieces in the head (level -1), which gets no parcels,
    and what belongs to this slot in level 0.
    """
    level = plan.level(number)
    outcome = Outcome()
    trains: Trains = dict(_arrived(plan, number, slot, parcels, states).items())
    trains.update({raw_port(name): train for name, train in (sources or {}).items()})
    for superbox in level.superboxes:
        if superbox.where is Where.ONE and slot != 0:
            continue
        for box in superbox.boxes:
            _run_box(plan, box, trains, states, sources or {}, outcome, policy)
    for channel in level.departures:
        if channel.begin in trains:
            outcome.parcels += send(channel, slot, plan.shards, trains[channel.begin])
    return outcome


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
        waits = f"{channel.begin}→{number}{channel.route}{','.join(channel.columns)}"
        trains[channel.number] = receive(channel, got, states(waits))
    return trains


def _receivers(channel: Channel, shards: int) -> set[int]:
    senders = (0,) if channel.from_where is Where.ONE else range(shards)
    return {receiver for sender in senders for receiver in channel.receivers(shards, sender)}


def _run_box(
    plan: Plan,
    box: Box,
    trains: Trains,
    states: States,
    sources: Mapping[str, Train],
    outcome: Outcome,
    policy: str,
) -> None:
    counts = outcome.counts[box.name] = Counts()

    def arrived(begin: Port) -> Train:
        number = plan.fed_through.get((box.name, begin))
        return trains[begin if number is None else number]

    if not box.inputs:
        inputs = {ORDERED: sources[box.name]} if box.name in sources else {ARRIVALS: arrived(raw_port(box.name))}
    else:
        inputs = {port: arrived(begin) for port, begin in plan.network.arrivals(box).items()}
    counts.tuples_in = {port: len(train) for port, train in inputs.items()}
    if not box.outputs:
        outcome.deliveries[box.name] = inputs[box.inputs[0]]
        return
    if not box.inputs and ORDERED in inputs:
        outputs: Mapping[str, Train] = _enter(plan, box, inputs[ORDERED])
        counts.tuples_in = {}
    else:
        began = time.perf_counter()
        outputs = process_guarded(plan.network, box, inputs, states(box.name), outcome.rejects, policy)
        counts.seconds = time.perf_counter() - began
    if box.kind == CONNECTION_POINT:
        outcome.deliveries[box.name] = inputs[box.inputs[0]]
    for port, train in outputs.items():
        counts.tuples_out[port] = len(train)
        trains[Port(box.name, port)] = train


def _enter(plan: Plan, box: Box, train: Train) -> dict[str, Train]:
    """A source's train is what its first port gives; its other ports (late tuples) give nothing."""
    first, *others = box.outputs
    rest = {port: Train(plan.network.streams[Port(box.name, port)].schema.empty(), train.through) for port in others}
    return {first: train, **rest}
