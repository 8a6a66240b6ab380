"""Priorities (Aurora §4.3): which branches wait when a step would take too long for the most urgent output.

A step may take half of the tightest limit: a tuple waits for one and takes one. The work of the next step that all
outputs share comes first, then the branches by priority, as many tuples of each as still fit. What does not fit waits
in the branch's queue; nothing is lost. What fits is also the most that a patient branch may take when more comes than
was seen so far: a burst is known only after a step, and that step must not be too long already.

Two policies give priorities. By state: how much utility is lost if this output waits for one more step. By feedback:
outputs that do badly rise, those in their good zone sink.

Branches that overflow, since the shedder found too much to do, come last: of their queues goes on what fits into the
headroom beside everything else (`work_off`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from arterial.figures.steering import Steering
from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.holding.branches import Branch, branches_held, branches_of, late_by
from arterial.service.load import Load, allowed, arrival_rate, measure, recent
from arterial.service.shares import in_force
from arterial.service.turn import Turn
from arterial.service.utility import outputs_of, worth_of_delay

Policy = Literal["state", "feedback"]

SAFE = 0.8
"""Of the time that the tightest limit leaves for a step, so much is planned for."""

RECENT = 0.5
"""Seconds over which it is seen how much arrives."""

BURST = 4.0
"""So many times the arrivals that were seen may come within a step."""

LEAST = 0.02
"""Of what comes to a branch that overflows, so much goes on in any case, so that its costs go on being measured."""

SHORTEST = 0.02
"""Seconds: a queue is worked off in steps that may be so long at least."""

RISE, SINK, MOST = 1.0, 0.25, 3.0
"""By how much feedback changes a priority in a step, and how high it gets."""


@dataclass(frozen=True)
class Memory:
    """What feedback remembers."""

    priorities: Mapping[str, float] = field(default_factory=dict)


def hold(
    window: Window,
    network: NetworkValue,
    steering: Steering,
    memory: Memory,
    cores: int,
    policy: Policy = "state",
    holdable: frozenset[str] | None = None,
    overflows: Collection[str] = (),
) -> tuple[Steering, Memory]:
    """Which branches wait in the next step, and how much of their queues goes on; but for the arcs that overflow."""
    lately = recent(window, RECENT)
    load = measure(window, network, cores, {name: arrival_rate(lately, name) for name in network.source_names})
    apart = late_by(network, overflows)
    alone = [branch for branch in branches_of(network, holdable) if len(branch.outputs) == 1]
    branches = [branch for branch in alone if branch.outputs[0].name not in apart]
    limits = [good_zone(output.delay) for output in outputs_of(network)]
    limit = min([one for one in limits if one > 2.2 * (load.fixed if load else 0)], default=math.inf)
    if load is None or not branches or not math.isfinite(limit):
        return replace(steering, hold={}), memory
    memory = _fed_back(window, memory, branches)
    work = load.work_by_box({**load.kept, **dict.fromkeys(overflows, 0.0)})
    seconds = _seconds_of_arrivals(lately, load, steering)
    room = SAFE * limit / 2 - load.fixed
    theirs = {name for branch in branches for name in branch.boxes}
    room -= load.stretch * seconds * sum(cost for name, cost in work.items() if name not in theirs)
    held = window.steps[-1].held
    takes: dict[str, int] = {}
    for branch in sorted(branches, key=lambda one: _priority(one, window, load, memory, policy), reverse=True):
        cost = load.stretch * sum(work[name] for name in branch.boxes)
        rate = _rate(branch, load)
        queue = sum(held.get(arc, 0) for arc in branch.names)
        wanted = rate * seconds + queue
        per_tuple = cost / rate if rate else 0.0
        fits = room / per_tuple if per_tuple else math.inf
        most = rate * seconds * BURST + queue if good_zone(branch.outputs[0].delay) > limit else wanted
        if fits < most:
            takes |= _shared_out(branch, max(0.0, fits), load, seconds, held)
        room -= min(wanted, max(0.0, fits)) * per_tuple
    return replace(steering, hold=takes), memory


def work_off(
    window: Window,
    network: NetworkValue,
    steering: Steering,
    cores: int,
    headroom: float = 0.8,
    *,
    others: bool = False,
) -> Steering:
    """How much of each queue of what overflows, which `hold` names, goes on: what the headroom leaves in a step beside
    all other work; next to nothing while `others` wait. The weightiest branch for its work goes first."""
    lately = recent(window, RECENT)
    now = measure(window, network, cores, {name: arrival_rate(lately, name) for name in network.source_names})
    load = measure(window, network, cores)
    if load is None or now is None:
        return steering
    kept = in_force(window, network, steering.shed, held=steering.hold)
    seconds = _seconds_of_arrivals(lately, now, steering)
    share = allowed(load, headroom)
    step = max(window.steps[-1].seconds, load.fixed / max(0.05, 1 - share), SHORTEST)
    limits = [SAFE * good_zone(output.delay) / 2 - load.fixed for output in outputs_of(network)]
    room = min([share * step, *(limit for limit in limits if limit > 0)]) - load.stretch * seconds * now.work(kept)
    held = window.steps[-1].held
    takes: dict[str, int] = {}
    work = {branch: _work_of(branch, load, kept) for branch in branches_held(network, steering.hold)}
    for branch in sorted(work, key=lambda one: sum(o.weight for o in one.outputs) / (work[one] or 1e-9), reverse=True):
        rate = _rate(branch, load)
        if not rate or not work[branch]:
            continue  # nothing came lately: as before
        per_tuple = load.stretch * work[branch] / rate
        fits = 0.0 if others else max(0.0, room / per_tuple)
        some = _shared_out(branch, fits, now, seconds, held)
        for arc in branch.arcs:
            least = math.ceil(LEAST * now.rates.get(arc.begin, 0.0) * seconds)
            takes[str(arc)] = max(1, least, some[str(arc)])
        wanted = _rate(branch, now) * seconds + sum(held.get(arc, 0) for arc in branch.names)
        room -= min(wanted, fits) * per_tuple
    return replace(steering, hold={**steering.hold, **takes})


@dataclass
class Holder:
    """A controller of a run: calls `hold` and keeps its memory; with `overflow`, also `work_off`."""

    cores: int
    policy: Policy | None = "state"
    """None: nothing waits but what overflows."""
    holdable: frozenset[str] | None = None
    overflow: bool = False
    """Whether the shedder, which decides before, says in `hold` what overflows."""
    headroom: float = 0.8
    memory: Memory = field(default_factory=Memory)
    turn: Turn = field(default_factory=Turn)

    def __call__(self, window: Window, network: NetworkValue, steering: Steering) -> Steering:
        """The record for the next step."""
        if not self.turn.comes(window):
            return steering
        apart = steering.hold if self.overflow else {}
        waits: dict[str, int] = {}
        if self.policy is not None:
            decided, self.memory = hold(
                window, network, steering, self.memory, self.cores, self.policy, self.holdable, apart
            )
            waits = dict(decided.hold)
        if apart:
            alone = replace(steering, hold=apart)
            apart = work_off(window, network, alone, self.cores, self.headroom, others=bool(waits)).hold
        return replace(steering, hold={**waits, **apart})


def _rate(branch: Branch, load: Load) -> float:
    """Tuples a second that come to the arcs of a branch."""
    return sum(load.rates.get(arc.begin, 0.0) for arc in branch.arcs)


def _work_of(branch: Branch, load: Load, kept: Mapping[str, float]) -> float:
    """Seconds of a core a second that a branch needs, beside what arcs let through otherwise."""
    return load.work({**kept, **dict.fromkeys(branch.names, 1.0)}) - load.work(
        {**kept, **dict.fromkeys(branch.names, 0.0)}
    )


def _shared_out(branch: Branch, fits: float, load: Load, seconds: float, held: Mapping[str, int]) -> dict[str, int]:
    """So many tuples of a branch by its arcs, as what waits there and comes next: so all sides advance together."""
    wanted = {str(arc): load.rates.get(arc.begin, 0.0) * seconds + held.get(str(arc), 0) for arc in branch.arcs}
    whole = sum(wanted.values())
    return {arc: int(fits * part / whole) if whole else int(fits) for arc, part in wanted.items()}


def _priority(branch: Branch, window: Window, load: Load, memory: Memory, policy: Policy) -> tuple[float, float]:
    """The greater, the sooner; among equals the tighter limit."""
    output = branch.outputs[0]
    delay = output.delay
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
        figures = step.outputs.get(branch.outputs[0].name)
        if figures is not None and figures.tuples:
            return figures.delay + since
        if any(step.held.get(arc, 0) for arc in branch.names):
            since = last.born + last.seconds - step.born
    return since


def _fed_back(window: Window, memory: Memory, branches: Sequence[Branch]) -> Memory:
    priorities = {}
    for branch in branches:
        name = branch.outputs[0].name
        before = memory.priorities.get(name, 0.0)
        badly = _age(branch, window) > SAFE * good_zone(branch.outputs[0].delay)
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
