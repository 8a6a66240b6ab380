"""The shedder: from figures to drops, between two steps (Aurora §4.5). With hysteresis: no flapping.

More is left out as soon as an overload is seen; less, only when all of the last seconds could have done with less.

With overflow, branches of which nothing that is left out could be settled are held instead. The shedder says which; the
holder, after it, how much of their queues goes on. A branch is let go when its queue is empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from arterial.figures.steering import Drop, Steering
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.service.holding.branches import late_by
from arterial.service.load import Load, measure
from arterial.service.shares import in_force
from arterial.service.shedding.greedy import MOST, Choices, choose
from arterial.service.shedding.overload import Overload, overload
from arterial.service.shedding.trials import Trial, begin_trials, came_to, judged, put_on_trial
from arterial.service.turn import Turn
from arterial.service.utility import outputs_of
from arterial.service.values import Histogram

ENOUGH = 1.05
"""A plan stays while it leaves at most so many times the work that can be borne."""

SLACK = 0.85
"""It is lifted, in part or all, when it leaves less than this share of the work that could have been borne."""

REFINE, SETTLED = 0.97, 6.0
"""A plan that was made to work off a queue leaves out too much afterwards. So after so many seconds without a change it
is also lifted when it leaves less than this share of that work."""

STILL, DISTRUST, LEAST_TRUST = 4.0, 0.93, 0.6
"""If an output is late although a plan has been in force for so many seconds, the machine does less than the costs say.
Then it is trusted with this share of what it was, down to the least, until nothing is left out any more."""

FIRST = 1
"""Of the queue of an arc that is held newly, so much goes on until the holder says more."""

ENOUGH_VALUES, LAST = 100, 50
"""A histogram is believed from so many tuples on, and made of so many steps."""


@dataclass(frozen=True)
class Memory:
    """What a shedder remembers."""

    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    """How values are distributed when none is left out by a predicate."""
    trials: Mapping[str, Trial] = field(default_factory=dict)
    """Estimates for outputs whose value is not known at their split point."""
    unlike: Mapping[str, float] = field(default_factory=dict)
    """By arc, where whole groups are left out: the share that went for each share that was asked for. Groups are of any
    size and may be few."""
    trust: float = 1.0
    """The share that can really be done of what costs and limits say."""
    changed: float = -math.inf
    """When the plan was last changed, in seconds since 1970."""
    held: frozenset[str] | None = None
    """With overflow: the arcs that the plan holds. None at the start: then those of the record, from before a stop."""
    emptied: frozenset[str] = frozenset()
    """The arcs that it holds no longer, whose queues are worked off."""


def shed(
    window: Window,
    network: NetworkValue,
    steering: Steering,
    memory: Memory,
    cores: int,
    headroom: float = 0.8,
    *,
    overflow: bool = False,
    holdable: frozenset[str] | None = None,
) -> tuple[Steering, Memory]:
    """What to leave out in the next step; with `overflow`, only what can be settled later, and that is kept. What then
    waits is in `hold`."""
    memory = _remembered(window, network, steering, memory)
    if overflow and memory.held is None:
        memory = replace(memory, held=frozenset(steering.hold))
    held = memory.held or frozenset()
    load = measure(window, network, cores)
    if load is None:
        return steering, memory
    found = overload(window, load, headroom, held | memory.emptied)
    trust = _trust(window, found, memory) if steering.shed or held else 1.0
    is_doubted = trust < memory.trust
    memory, capacity = replace(memory, trust=trust), trust * found.capacity
    whole = load.work()
    left = load.work(in_force(window, network, steering.shed, held=held | memory.emptied)) / whole if whole else 1.0
    trials = {} if overflow else begin_trials(window, network, memory.histograms, memory.trials)
    if is_doubted or (found.seen and left * found.now > ENOUGH * capacity):
        demand = found.now
    elif (steering.shed or held) and left * found.lately < _slack(window, memory) * capacity:
        demand = found.lately
    else:
        drops, trials = judged(window, network, steering.shed, trials)
        return _holding(window, replace(steering, shed=drops), replace(memory, trials=trials), held)
    late = late_by(network, window.steps[-1].held) if overflow else frozenset[str]()
    planned, wait = _plan(load, capacity, demand, memory, overflow, holdable, late)
    drops, trials = put_on_trial(planned, trials, window.steps[-1].step)
    same = bool(wait) and (drops, wait) == (steering.shed, held)
    memory = replace(memory, trials=trials, changed=memory.changed if same else _now(window))
    return _holding(window, replace(steering, shed=drops), memory, wait)


def _holding(window: Window, steering: Steering, memory: Memory, wait: frozenset[str]) -> tuple[Steering, Memory]:
    """The record in which these arcs are held, and those whose queues are not empty yet; each as before, if it was."""
    if memory.held is None:
        return steering, memory
    queues = window.steps[-1].held
    emptied = frozenset(arc for arc in (memory.held | memory.emptied) - wait if queues.get(arc))
    hold = {arc: steering.hold.get(arc, FIRST) for arc in sorted(wait | emptied)}
    return replace(steering, hold=hold), replace(memory, held=wait, emptied=emptied)


def _trust(window: Window, found: Overload, memory: Memory) -> float:
    """How far what costs and limits say is believed, under a plan."""
    if found.late and _now(window) - memory.changed >= STILL:
        return max(LEAST_TRUST, DISTRUST * memory.trust)
    return memory.trust


def _slack(window: Window, memory: Memory) -> float:
    return REFINE if _now(window) - memory.changed >= SETTLED else SLACK


def _now(window: Window) -> float:
    return window.steps[-1].born + window.steps[-1].seconds


def _plan(
    load: Load,
    capacity: float,
    demand: float,
    memory: Memory,
    overflow: bool,
    holdable: frozenset[str] | None,
    late: frozenset[str],
) -> tuple[dict[str, Drop], frozenset[str]]:
    """Drops, and arcs to hold, with which a demand in the mix of the window needs no more than the capacity."""
    if demand <= capacity:
        return {}, frozenset()
    choices = Choices.of(load, memory.histograms, settled=overflow)
    if overflow:
        choices = choices.or_held(holdable, late)
    plan = choose(choices, capacity * load.work() / demand)
    drops = {
        arc: replace(drop, overflow=overflow, share=min(MOST, round(drop.share / memory.unlike.get(arc, 1.0), 4)))
        for arc, drop in choices.drops(plan).items()
    }
    return drops, plan.held


def _remembered(window: Window, network: NetworkValue, steering: Steering, memory: Memory) -> Memory:
    """The histograms of the outputs that nothing is kept from by a predicate, and how groups differ from a share."""
    histograms = dict(memory.histograms)
    unlike = dict(memory.unlike)
    last = list(window.steps)[-1:]
    for arc in network.arcs:
        drop = steering.shed.get(str(arc))
        if drop is not None and drop.by and drop.share and (came := came_to(last, arc)) >= ENOUGH_VALUES:
            went = sum(step.shed.get(str(arc), 0) for step in last) / came
            unlike[str(arc)] = min(2.0, max(0.5, went / drop.share))
    if not any(drop.keep for drop in steering.shed.values()):
        for output in outputs_of(network):
            counts: dict[str, int] = {}
            for step in list(window.steps)[-LAST:] if output.value else ():
                if output.name in step.outputs:
                    for name, number in step.outputs[output.name].values.items():
                        counts[name] = counts.get(name, 0) + number
            if sum(counts.values()) >= ENOUGH_VALUES:
                histograms[output.name] = counts
    return replace(memory, histograms=histograms, unlike=unlike)


@dataclass
class Shedder:
    """A controller of a run: calls `shed` and keeps its memory."""

    cores: int
    headroom: float = 0.8
    overflow: bool = False
    holdable: frozenset[str] | None = None
    """The arcs that can be held; None: all that boxes allow."""
    memory: Memory = field(default_factory=Memory)
    turn: Turn = field(default_factory=Turn)

    def __call__(self, window: Window, network: NetworkValue, steering: Steering) -> Steering:
        """The record for the next step."""
        if not self.turn.comes(window):
            return steering
        steering, self.memory = shed(
            window,
            network,
            steering,
            self.memory,
            self.cores,
            self.headroom,
            overflow=self.overflow,
            holdable=self.holdable,
        )
        return steering
