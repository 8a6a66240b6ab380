"""Priorities (Aurora §4.3): which branches wait when a step would take too long for the most urgent output.

A step may take half of the tightest limit: a tuple waits for one and takes one. The work of the next step that all
outputs share comes first, then the branches by priority, as many tuples of each as still fit. What does not fit waits
in the branch's queue; nothing is lost. What fits is also the most that a patient branch may take when more comes than
was seen so far: a burst is known only after a step, and that step must not be too long already.

Two policies give priorities. By state: how much utility is lost if this output waits for one more step. By feedback:
outputs that do badly rise, those in their good zone sink.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from arterial.boxes.ends.output import Output
from arterial.figures.steering import Steering
from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.load import Load, arrival_rate, measure, recent
from arterial.service.shedding.points import reached_from
from arterial.service.turn import Turn
from arterial.service.utility import outputs_of, worth_of_delay

Policy = Literal["state", "feedback"]

SAFE = 0.8
"""Of the time that the tightest limit leaves for a step, so much is planned for."""

RECENT = 0.5
"""Seconds over which it is seen how much arrives."""

BURST = 4.0
"""So many times the arrivals that were seen may come within a step."""

RISE, SINK, MOST = 1.0, 0.25, 3.0
"""By how much feedback changes a priority in a step, and how high it gets."""


@dataclass(frozen=True)
class Branch:
    """What leads to one output alone."""

    output: Output
    arc: Arc
    boxes: frozenset[str]


@dataclass(frozen=True)
class Memory:
    """What feedback remembers."""

    priorities: Mapping[str, float] = field(default_factory=dict)


def branches_of(network: NetworkValue, holdable: frozenset[str] | None = None) -> tuple[Branch, ...]:
    """The branch of each output that has one: it begins with the first arc that can be held and leads there alone."""
    reached = reached_from(network)
    into = {arc.end: arc for arc in network.arcs}
    found: dict[str, Arc] = {}
    for box in network.order:
        if len(box.inputs) != 1:  # what meets another stream must not wait for itself
            continue
        arc = into[Port(box.name, box.inputs[0])]
        can = arc not in network.inseparable and (holdable is None or str(arc) in holdable)
        if can and len(reached[arc]) == 1:
            (name,) = reached[arc]
            found.setdefault(name, arc)
    outputs = {output.name: output for output in outputs_of(network)}
    return tuple(
        Branch(outputs[name], arc, frozenset(_behind(network, arc))) for name, arc in found.items() if name in outputs
    )


def hold(
    window: Window,
    network: NetworkValue,
    steering: Steering,
    memory: Memory,
    cores: int,
    policy: Policy = "state",
    holdable: frozenset[str] | None = None,
) -> tuple[Steering, Memory]:
    """Which branches wait in the next step, and how much of their queues goes on."""
    lately = recent(window, RECENT)
    load = measure(window, network, cores, {name: arrival_rate(lately, name) for name in network.source_names})
    branches = branches_of(network, holdable)
    limits = [good_zone(output.delay) for output in outputs_of(network)]
    limit = min([one for one in limits if one > 2.2 * (load.fixed if load else 0)], default=math.inf)
    if load is None or not branches or not math.isfinite(limit):
        return replace(steering, hold={}), memory
    memory = _fed_back(window, memory, branches)
    work = load.work_by_box(load.kept)
    seconds = _seconds_of_arrivals(lately, load, steering)
    room = SAFE * limit / 2 - load.fixed
    apart = {name for branch in branches for name in branch.boxes}
    room -= load.stretch * seconds * sum(cost for name, cost in work.items() if name not in apart)
    held = window.steps[-1].held
    takes: dict[str, int] = {}
    for branch in sorted(branches, key=lambda one: _priority(one, window, load, memory, policy), reverse=True):
        arc = str(branch.arc)
        cost = load.stretch * sum(work[name] for name in branch.boxes)
        rate = load.rates.get(branch.arc.begin, 0.0)
        queue = held.get(arc, 0)
        wanted = rate * seconds + queue
        per_tuple = cost / rate if rate else 0.0
        fits = room / per_tuple if per_tuple else math.inf
        most = rate * seconds * BURST + queue if good_zone(branch.output.delay) > limit else wanted
        if fits < most:
            takes[arc] = max(0, int(fits))
        room -= min(wanted, max(0.0, fits)) * per_tuple
    return replace(steering, hold=takes), memory


@dataclass
class Holder:
    """A controller of a run: calls `hold` and keeps its memory."""

    cores: int
    policy: Policy = "state"
    holdable: frozenset[str] | None = None
    memory: Memory = field(default_factory=Memory)
    turn: Turn = field(default_factory=Turn)

    def __call__(self, window: Window, network: NetworkValue, steering: Steering) -> Steering:
        """The record for the next step."""
        if not self.turn.comes(window):
            return steering
        steering, self.memory = hold(window, network, steering, self.memory, self.cores, self.policy, self.holdable)
        return steering


def _priority(branch: Branch, window: Window, load: Load, memory: Memory, policy: Policy) -> tuple[float, float]:
    """The greater, the sooner; among equals the tighter limit."""
    output, delay = branch.output, branch.output.delay
    tighter = -good_zone(delay)
    if policy == "feedback":
        return memory.priorities.get(output.name, 0.0), tighter
    step = window.steps[-1].seconds
    age = _age(branch, window)
    lost = worth_of_delay(delay, age + step) - worth_of_delay(delay, age + 2 * step)
    cost = sum(load.work_by_box(load.kept)[name] for name in branch.boxes) or 1e-9
    return output.weight * lost / cost, tighter


def _age(branch: Branch, window: Window) -> float:
    """How long the output's oldest tuple has waited: as its last ones did, and since nothing of it was let through."""
    last = window.steps[-1]
    since = 0.0
    for step in reversed(window.steps):
        figures = step.outputs.get(branch.output.name)
        if figures is not None and figures.tuples:
            return figures.delay + since
        if step.held.get(str(branch.arc), 0):
            since = last.born + last.seconds - step.born
    return since


def _fed_back(window: Window, memory: Memory, branches: tuple[Branch, ...]) -> Memory:
    priorities = {}
    for branch in branches:
        name = branch.output.name
        before = memory.priorities.get(name, 0.0)
        badly = _age(branch, window) > SAFE * good_zone(branch.output.delay)
        priorities[name] = min(MOST, before + RISE) if badly else max(0.0, before - SINK)
    return Memory(priorities)


def _seconds_of_arrivals(steps: list[StepFigures], load: Load, steering: Steering) -> float:
    """How many seconds' worth of arrivals the next step reads: what waits, and what came during the last step."""
    names = load.network.source_names
    rate = sum(arrival_rate(steps, name) for name in names)
    last = steps[-1]
    waiting = sum(last.sources[name].waiting or 0 for name in names if name in last.sources)
    tuples = waiting + rate * last.seconds
    if steering.admit:
        tuples = min(tuples, sum(steering.admit.values()))
    return tuples / rate if rate else 0.0


def _behind(network: NetworkValue, arc: Arc) -> set[str]:
    found: set[str] = set()
    ends = [arc.end]
    while ends:
        end = ends.pop()
        if end.box not in found:
            found.add(end.box)
            ends += network.behind(network.box(end.box))
    return found
