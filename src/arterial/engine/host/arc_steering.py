"""What a steering record does to the arcs of a level, in one slot and step: leave out, hold back, show (decision 26).

Boxes know nothing of it. What happens to a tuple follows from the record, the step, the slot and the tuple's place in
its train: a step that is run again after a crash does the same to the same tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.connectors.points.history import tuples_before
from arterial.connectors.source import Part, Reading, Source, Span
from arterial.engine.host.queue import Queue
from arterial.engine.plan.plan import HEAD, Channel, Plan, Where
from arterial.engine.plan.successor import queue_of
from arterial.figures.steering import Drop, Steering, Tap
from arterial.network.expression.parser import predicate
from arterial.network.expression.vectorised import truth
from arterial.network.keys.hashing import GOLDEN, MASK, mix
from arterial.network.keys.left_out import LeftOut, above
from arterial.network.keys.slots import split
from arterial.network.network import Arc, NetworkValue
from arterial.network.state import State
from arterial.network.thinned import groups_to_leave_out
from arterial.network.train import Train


@dataclass(frozen=True)
class StepSteering:
    """The step that is run: its number, its record, and when it was planned, in seconds since 1970."""

    step: int = 0
    steering: Steering = field(default_factory=Steering)
    born: float = 0.0
    points: Path | None = None
    """The folder with the tables of the run's connection points."""


@dataclass
class ArcOutcome:
    """What became of tuples on the arcs of a level, by the arc's name."""

    shed: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    """How many wait now."""
    oldest: dict[str, float] = field(default_factory=dict)
    """When the oldest tuple that left a queue in this step was read, in seconds since 1970."""
    tapped: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """What is shown, by the name of the tap."""
    overflow: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """What was left out and is kept."""
    unread: dict[str, int] = field(default_factory=dict)
    """For each source that can leave out groups without reading them: how many tuples of it were not read."""


class ArcSteering:
    """Applies the record of a step to the trains on arcs, in one slot of one level."""

    def __init__(
        self, plan: Plan, level: int, slot: int, steered: StepSteering, states: Callable[[str], State]
    ) -> None:
        self._plan, self._level, self._slot, self._states = plan, level, slot, states
        self._step, self._born, steering = steered.step, steered.born, steered.steering
        self._hold, self._shed, self._tap = dict(steering.hold), steering.shed, steering.tap
        self._history, self._points = dict(steering.history), steered.points
        self._trains: dict[str, int] = {}
        self.passed = ArcOutcome()

    def arrive(self, arc: Arc, train: Train) -> Train:
        """What a box gets of a train on an arc that leads to it."""
        name = self._plan.arc_names[arc.end]
        if name in self._shed and not self._plan.sent_alone(arc):
            train = self._drop(arc, name, train)
        if name in self._history:
            train = self._begin(arc, self._history.pop(name), train)
        if self._level != HEAD:
            train = self._wait(arc, name, train)
        for tap, wanted in self._tap.items():
            if wanted.arc == name:
                self._show(tap, wanted, arc, train)
        return train

    def depart(self, channel: Channel, train: Train) -> Train:
        """What is sent of a train through a channel. If that is for one arc only, less need be sent."""
        if self._shed and (arc := self._plan.only_arc(channel)) is not None:
            name = self._plan.arc_names[arc.end]
            if name in self._shed:
                return self._drop(arc, name, train)
        return train

    def _drop(self, arc: Arc, name: str, train: Train) -> Train:
        number = self._trains[name] = self._trains.get(name, -1) + 1
        drop = self._shed[name]
        tuples = train.tuples
        mask = (
            LeftOut(drop.by, drop.share, drop.seed).stays(tuples)
            if drop.by
            else chosen(tuples.height, drop, self._step, self._slot, number)
        )
        if drop.keep is not None:
            mask &= truth(tuples, predicate(drop.keep, self._plan.network.streams[arc.begin].schema)).to_numpy()
        left_out = tuples.height - int(mask.sum())
        if not left_out:
            return train
        self.passed.shed[name] = self.passed.shed.get(name, 0) + left_out
        if drop.overflow:
            self.passed.overflow.setdefault(name, []).append(tuples.filter(~pl.Series(mask)))
        return replace(train, tuples=tuples.filter(pl.Series(mask)))

    def _begin(self, arc: Arc, point: str, train: Train) -> Train:
        """A train with what a connection point kept before this step: of each key in its slot, else all in the first,
        whose piece of the sequence comes first."""
        if self._points is None:
            return train
        box, schema = self._plan.superbox_of(arc.end.box), self._plan.network.streams[arc.begin].schema
        if box.where is not Where.KEY and self._slot:
            return train
        kept = tuples_before(self._points / point, self._step)
        if kept is None:
            return train
        if box.where is Where.KEY:
            kept = split(kept, box.key, self._plan.shards)[self._slot]
        return replace(train, tuples=pl.concat([kept.select(schema.names), train.tuples]))

    def _wait(self, arc: Arc, name: str, train: Train) -> Train:
        """Through the queue, if the arc is held or still has one."""
        state = self._states(queue_of(name))
        if state.get("list") is None and (name not in self._hold or len(train) <= self._share(arc, name)):
            if name in self._hold:
                self._hold[name] -= len(train) * self._slots(arc)
            return train  # nothing waits, and all of it may go on
        queue = Queue(state, self._plan.network.streams[arc.begin])
        queue.append(train, self._born)
        waiting, since = len(queue), queue.oldest
        tuples = queue.take(self._share(arc, name) if name in self._hold else waiting)
        if tuples.height:
            self.passed.oldest[name] = min(since, self.passed.oldest.get(name, since))
            if name in self._hold:
                self._hold[name] -= tuples.height * self._slots(arc)
        queue.save()
        self.passed.held[name] = len(queue)
        return Train(tuples, queue.through(train.through))

    def _share(self, arc: Arc, name: str) -> int:
        """How many of its queue a slot lets through: all slots where the box runs have the same part of the number."""
        return -(-max(0, self._hold[name]) // self._slots(arc))

    def _slots(self, arc: Arc) -> int:
        one = self._plan.superbox_of(arc.end.box).where is Where.ONE
        return 1 if one else self._plan.shards

    def _show(self, tap: str, wanted: Tap, arc: Arc, train: Train) -> None:
        shown = self.passed.tapped.setdefault(tap, [])
        left = wanted.limit - sum(frame.height for frame in shown)
        if left <= 0 or not len(train):
            return
        tuples = train.tuples
        if wanted.where is not None:
            tuples = tuples.filter(truth(tuples, predicate(wanted.where, self._plan.network.streams[arc.begin].schema)))
        if tuples.height:
            shown.append(tuples.head(left))


def chosen(rows: int, drop: Drop, step: int, slot: int, train: int) -> Array:
    """Which rows of a train stay, by the share that is left out: a hash decides, so it is the same every time.

    >>> chosen(5, Drop(share=0.5, seed=1), step=7, slot=0, train=0).tolist()
    [True, True, False, True, True]
    """
    if drop.share <= 0:
        return np.ones(rows, bool)
    begin = 0
    for part in (drop.seed, step, slot, train):
        begin = int(mix(np.array([(begin + GOLDEN + part) & MASK], np.uint64))[0])
    hashes = mix(np.arange(rows, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(begin))
    return above(hashes, drop.share)


def unread(network: NetworkValue, steering: Steering, name: str, source: Source) -> tuple[str, LeftOut | None] | None:
    """The arc on which groups of a source are left out, and which; None if the source must be read whole.

    A drop behind the only arc of a source saves the reading too, where the source can tell its groups apart.
    """
    ends = [arc for arc in network.arcs if arc.begin.box == name]
    groups = groups_to_leave_out(network, ends[0]) if len(ends) == 1 else None
    if groups is None or not source.skips(groups):
        return None
    drop = steering.shed.get(str(ends[0]))
    skips = drop is not None and bool(drop.by) and drop.keep is None and source.skips(drop.by)
    return str(ends[0]), LeftOut(drop.by, drop.share, drop.seed) if drop is not None and skips else None


def reading(plan: Plan, steering: Steering, name: str, source: Source, span: Span, slot: int) -> Reading:
    """What a slot reads of a source in a step."""
    key = plan.source_keys[name] if name in plan.split_sources else None
    part = Part(slot, plan.shards, key)
    found = unread(plan.network, steering, name, source)
    return (
        Reading(source, span, part)
        if found is None
        else Reading(source, span, replace(part, without=found[1]), found[0])
    )
