"""Overload: how much more work there is than can be borne (Aurora §4.4, dynamic analysis)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.holding.branches import late_by
from arterial.service.load import MARGIN, Load, allowed, arrival_rate
from arterial.service.utility import outputs_of

AT_ONCE = 2
"""An overload counts when it is seen in so many steps in a row."""

RECENT = 1.0
LONG = 4.0
"""Seconds over which the load of now, and the load that could come again, are measured."""

DRAIN = 3.0
"""Seconds in which what waits is to be worked off."""

GROWS = 3
"""What waits must grow in so many steps to count."""


@dataclass(frozen=True)
class Overload:
    """The work of a second, in seconds of a core."""

    now: float
    """What arrives now and, if an output is late, what waits and has to be worked off."""
    lately: float
    """The most that arrived in a second lately, with what waits."""
    capacity: float
    """What can be done with all outputs in their good zones, and within the headroom."""
    seen: bool
    """Whether an output left its good zone, or the work exceeded the capacity, in the last steps."""
    late: bool = False
    """Whether an output was beyond its good zone, or what waits grew, in all of the last steps."""


def late(network: NetworkValue, step: StepFigures) -> tuple[str, ...]:
    """The outputs that were beyond their good zone in a step."""
    return tuple(
        output.name
        for output in outputs_of(network)
        if output.name in step.outputs and step.outputs[output.name].delay > good_zone(output.delay)
    )


def overload(window: Window, load: Load, headroom: float, held: Collection[str] = ()) -> Overload:
    """How the load of a window compares with what can be borne. Behind the arcs that are `held` it may be late."""
    steps = list(window.steps)
    rates = _Rates(steps, load.network.source_names)
    recently = rates.factor(RECENT)
    work = load.work()
    capacity = allowed(load, headroom) / load.stretch
    last = steps[-AT_ONCE:]
    may_be = late_by(load.network, held)
    lateness = len(last) == AT_ONCE and all(set(late(load.network, step)) - may_be for step in last)
    kept = load.work(load.kept) / work if work else 1.0
    # What waits counts once an output is late, and as long as anything is left out: else it stays just within limits.
    behind = max(0.0, _backlog(load, steps[-1], capacity)) / DRAIN if lateness or load.kept or held else 0.0
    now = work * (recently + behind)
    # The model may be wrong; that more comes than goes is not, unless a queue is worked off in steps without a rest.
    if not held and _grows(load.network, steps):
        comes = sum(arrival_rate(steps, name) for name in load.network.source_names)
        goes = sum(window.rate(name) for name in load.network.source_names)
        if comes > goes > 0:
            capacity = min(capacity, headroom * work * goes / comes * kept)
            lateness = True
    lately = work * (max(recently, rates.factor(LONG)) + behind)
    exceeds = now > capacity / MARGIN and _arrival_is_known(steps[-1])
    return Overload(now, lately, capacity, lateness or exceeds, lateness)


def _arrival_is_known(step: StepFigures) -> bool:
    """Whether a source says what waits. Where none does, tuples are read as fast as they can be, which is all that a
    machine can do and never too much."""
    return any(source.waiting is not None for source in step.sources.values())


def _backlog(load: Load, step: StepFigures, capacity: float) -> float:
    """What waits or came during the last step, as seconds of arrivals beyond those of a step at full capacity."""
    comes = load.work(load.kept)
    usual = load.fixed / max(0.05, 1 - load.stretch * capacity)
    return (load.waiting / comes if comes else 0.0) + step.seconds - usual


class _Rates:
    """How fast tuples came, in every stretch of about `RECENT` seconds."""

    def __init__(self, steps: list[StepFigures], sources: list[str]) -> None:
        self._born = [step.born for step in steps]
        self._known = [0]
        read = 0
        for step in steps:  # what had come by the plan of each step, read or waiting
            figures = [step.sources[name] for name in sources if name in step.sources]
            read += sum(one.tuples for one in figures)
            self._known.append(read + sum(one.waiting or 0 for one in figures))

    def factor(self, seconds: float) -> float:
        """How much faster than on the mean, at most, within the last seconds; 1 if there is no telling."""
        last = len(self._born) - 1
        if last < 1 or not (mean := self._rate(0, last)):
            return 1.0
        rates = []
        first = end = last
        while end > 0 and (end == last or self._born[last] - self._born[end] <= seconds - RECENT):
            first = min(first, end - 1)
            while first > 0 and self._born[end] - self._born[first] < RECENT:
                first -= 1
            rates.append(self._rate(first, end))
            end -= 1
        return max(rates) / mean

    def _rate(self, first: int, last: int) -> float:
        seconds = self._born[last] - self._born[first]
        return max(0.0, (self._known[last + 1] - self._known[first + 1]) / seconds) if seconds > 0 else 0.0


def _grows(network: NetworkValue, steps: list[StepFigures]) -> bool:
    """Whether the run never rests and what waits has grown with each of the last steps."""
    last = steps[-GROWS - 1 :]
    if len(last) <= GROWS:
        return False
    rests = any(later.born - (step.born + step.seconds) > 0.1 * step.seconds for step, later in pairwise(last))
    waiting = [sum(source.waiting or 0 for source in step.sources.values()) for step in last]
    return not rests and all(later > before for before, later in pairwise(waiting))
