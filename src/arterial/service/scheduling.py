"""Train scheduling (Aurora §4.3): how many tuples of each source make the next train.

A step takes F + k·n seconds for n tuples. A longer train spreads F over more tuples, a shorter one is delivered sooner.
What waits and what arrives meanwhile decide: with little to do a source gives what is there, and the train is short by
itself. Under load the train is as long as the tightest graph of delay allows, and never so short that more arrives than
goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from arterial.figures.steering import Drop, Steering
from arterial.figures.window import Window
from arterial.network.network import NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.load import PLANNED, Load, arrival_rate, measure, recent
from arterial.service.shares import in_force
from arterial.service.turn import Turn
from arterial.service.utility import outputs_of

EFFICIENT = 0.95
"""Where no graph asks for less, a train is so long that this share of its step goes into tuples."""

WORTH = 0.8
"""Under overload a graph may shorten trains until this share of a step goes into tuples."""

LITTLE = 0.25
"""Tuples get at least this share of a step's fixed cost, whatever the graphs: trains of a tuple each would be late too,
and what waits would wait for ever."""

SPARE = 1.25
"""A train takes at least so many times what arrives during a step, so that what waits grows less."""

STEADY = 0.2
"""A length stays in force while the best one differs from it by less than this share."""

RECENT = 2.0
"""Seconds over which it is seen how much arrives."""

LEAST = 0.1
"""A source is given at least this share of a train, also if little came of it lately."""


def train_length(load: Load, window: Window, kept: Mapping[str, float] | None = None) -> float:
    """The tuples of all sources together that the next train should have at most, if arcs let such shares through; as
    in the window, if nothing is said."""
    lately = recent(window, RECENT)
    arriving = sum(arrival_rate(lately, name) for name in load.network.source_names if says_what_waits(window, name))
    per_tuple = seconds_per_tuple(load, window, kept)
    if not per_tuple:
        return math.inf
    efficient = load.fixed * EFFICIENT / (1 - EFFICIENT) / per_tuple
    limit = min((good_zone(output.delay) for output in outputs_of(load.network)), default=math.inf)
    last = window.steps[-1]
    waiting = sum(source.waiting or 0 for source in last.sources.values())
    in_time = max(PLANNED * limit / 2 - load.fixed, LITTLE * load.fixed) / per_tuple
    busy = per_tuple * arriving
    if arriving and busy < 1:
        # A train is short by itself. A limit would only hold back what a pause of the machine leaves, for many steps.
        return max(in_time, SPARE * arriving * load.fixed / (1 - busy), 1.0)
    needed = 0.0
    if busy >= 1:  # no length suffices, so the graph decides, unless most of a step were then its fixed cost
        needed = min(efficient, max(in_time, load.fixed * WORTH / (1 - WORTH) / per_tuple))
        # The fixed cost may seem to be nothing for a moment; what came during a step is no train that is too long.
        needed = max(needed, min(in_time, arriving * last.seconds))
    # A long queue, and a file that is read as fast as can be, is worked off in trains as long as the graphs allow.
    efficient = max(efficient, waiting)
    return max(needed, min(efficient, in_time), 1.0)


def seconds_per_tuple(load: Load, window: Window, kept: Mapping[str, float] | None = None) -> float:
    """k: seconds of a step for each tuple that is read, if arcs let such shares through."""
    sources = load.network.source_names
    comes = sum(load.rates.get(Port(name, port), 0.0) for name in sources for port in _out(load, name))
    if comes:
        return load.stretch * load.work(load.kept if kept is None else kept) / comes
    read = sum(source.tuples for step in window.steps for source in step.sources.values())
    work = sum(box.seconds for step in window.steps for box in step.boxes.values())
    return load.stretch * work / read if read else 0.0


def schedule(
    window: Window,
    network: NetworkValue,
    steering: Steering,
    cores: int,
    most: int,
    before: Mapping[str, Drop] | None = None,
    *,
    overflow: bool = False,
) -> Steering:
    """The record with how much of each source the next step takes at most; `most` is the run's own limit of a train,
    `before` are the drops that were in force in the last step, if they have changed. With `overflow`, what is held need
    not be done in the step."""
    load = measure(window, network, cores)
    if load is None:
        return steering
    held = steering.hold if overflow else ()
    kept = in_force(window, network, steering.shed, before, held) if steering.shed or held else None
    length = min(train_length(load, window, kept), most / _read(load, kept or {}))
    comes = {name: arrival_rate(window.steps, name) for name in network.source_names}
    whole = sum(comes.values())
    share = {name: max(LEAST, comes[name] / whole) if whole else 1 / len(comes) for name in comes}
    admit = {name: max(1, round(length * part)) for name, part in share.items()}
    so_far, after = sum(steering.admit.values()), sum(admit.values())
    return steering if so_far and abs(after - so_far) < STEADY * so_far else replace(steering, admit=admit)


def _read(load: Load, kept: Mapping[str, float]) -> float:
    """The share of what the sources give that is really read: what is left out unread takes no memory."""
    comes = {name: sum(load.rates.get(Port(name, port), 0.0) for port in _out(load, name)) for name in load.unread}
    whole = sum(load.rates.get(Port(n, port), 0.0) for n in load.network.source_names for port in _out(load, n))
    unread = sum(rate * (1 - kept.get(load.unread[name], 1.0)) for name, rate in comes.items())
    return 1 - unread / whole if whole else 1.0


@dataclass
class Scheduler:
    """A controller of a run: calls `schedule`."""

    cores: int
    most: int = 500_000
    overflow: bool = False
    turn: Turn = field(default_factory=Turn)
    shed: Mapping[str, Drop] = field(default_factory=dict)
    """What was left out when it decided last."""

    def __call__(self, window: Window, network: NetworkValue, steering: Steering) -> Steering:
        """The record for the next step."""
        if not self.turn.comes(window):
            return steering
        before, self.shed = self.shed, steering.shed
        return schedule(window, network, steering, self.cores, self.most, before, overflow=self.overflow)


def says_what_waits(window: Window, source: str) -> bool:
    """Whether it is known how much arrives. Where it is not, a run that reads as fast as it can seems overloaded."""
    figures = window.steps[-1].sources.get(source)
    return figures is not None and figures.waiting is not None


def _out(load: Load, source: str) -> tuple[str, ...]:
    return load.network.box(source).outputs
