"""The load of a network: what its boxes cost, how fast tuples come, how long a step takes (decision 30).

A step takes `fixed + stretch · work`, work being the seconds of a core that its boxes need. Rates are those that the
streams would have if nothing were left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median

from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.shares import counted_again, kept_of, pass_on, together
from arterial.service.utility import outputs_of

UNLIKE = 1.2
"""Two steps show what a tuple costs if one had so many times the work of the other."""

ODD = 4.0
"""A step is odd if a tuple took so many times as long in it as is usual."""

PLANNED = 0.8
"""Of the delay that a graph allows, so much is planned for: a tuple costs more in one step than in another."""

MARGIN = 0.95
"""Of the utilisation that the limits allow, so much is planned for."""

DRIFT = 2.0
"""Box costs of a window differ from those of the last minutes by this factor at most."""

ENOUGH_STEPS = 3
"""What is usual is known from so many steps on."""


@dataclass(frozen=True)
class Load:
    """What a network has to do in a second, and what it can."""

    network: NetworkValue
    cost: Mapping[str, float]
    """c(b): seconds of a core for a tuple that enters a box (or leaves it, for a source)."""
    rates: Mapping[Port, float]
    """Tuples a second that would leave each output port if nothing were left out."""
    fixed: float = 0.0
    """F: seconds of a step that depend on no tuple."""
    stretch: float = 1.0
    """e: seconds of a step for each second of a core."""
    waiting: float = 0.0
    """Seconds of a core that the tuples need which wait before the sources."""
    kept: Mapping[str, float] = field(default_factory=dict)
    """The share of its tuples that each arc let through while this was measured."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """The sources that do not read what is left out on the one arc that they have, with that arc."""

    def delivered(self, kept: Mapping[str, float]) -> dict[str, float]:
        """The share of its tuples that each output gets if arcs let so much through."""
        return self._flow(kept)[1]

    def work_by_box(self, kept: Mapping[str, float] | None = None) -> dict[str, float]:
        """Seconds of a core that each box needs in a second."""
        return self._flow(kept or {})[0]

    def work(self, kept: Mapping[str, float] | None = None) -> float:
        """Seconds of a core that all boxes need in a second (min_cap, Aurora §4.4)."""
        return sum(self._flow(kept or {})[0].values())

    def utilisation(self) -> float:
        """ρ: the share of a second that goes into tuples; from 1 on, queues grow without bound."""
        return self.stretch * self.work()

    def delay(self, utilisation: float) -> float:
        """The worst delay of a steady load: a tuple waits for a step, then takes one."""
        return 2 * self.fixed / (1 - utilisation) if utilisation < 1 else math.inf

    def bearable(self, limit: float) -> float:
        """The greatest utilisation at which the worst delay is within a limit; 0 if none is."""
        return max(0.0, 1 - 2 * self.fixed / limit) if limit > 0 else 0.0

    def _flow(self, kept: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """The work of each box, and the share that each output gets, in one pass: plans are tried by the hundred."""
        share: dict[str, float] = {}
        work, delivered = {}, {}
        for way in self._ways:
            if not way.inputs:
                share[way.box] = 1.0
                work[way.box] = way.cost * way.rate * kept.get(self.unread.get(way.box, ""), 1.0)
                continue
            entering = [share[begin] * kept.get(arc, 1.0) for begin, arc, _ in way.inputs]
            tuples = sum(part * rate for part, (_, _, rate) in zip(entering, way.inputs, strict=True))
            work[way.box] = way.cost * tuples
            if way.adds_up:
                share[way.box] = tuples / way.rate if way.rate else min(entering)
            else:
                share[way.box] = together(entering, kept, way.again)
            if way.is_output:
                delivered[way.box] = entering[0]
        return work, delivered

    @cached_property
    def _ways(self) -> tuple[_Way, ...]:
        ways, again = [], counted_again(self.network)
        for box in self.network.order:
            inputs = tuple(
                (begin.box, str(Arc(begin, Port(box.name, port))), self.rates.get(begin, 0.0))
                for port, begin in self.network.arrivals(box).items()
            )
            left = sum(self.rates.get(Port(box.name, port), 0.0) for port in box.outputs)
            rate = sum(rate for _, _, rate in inputs) if inputs else left
            adds_up = box.independent and len(inputs) > 1
            cost = self.cost.get(box.name, 0.0)
            ways.append(_Way(box.name, inputs, cost, rate, adds_up, not box.outputs, again.get(box.name, ())))
        return tuple(ways)


@dataclass(frozen=True)
class _Way:
    """What the flow through a box needs to know of it."""

    box: str
    inputs: tuple[tuple[str, str, float], ...]
    """The box before, the arc, and the tuples a second on it."""
    cost: float
    rate: float
    adds_up: bool
    """Whether it gives the mean of its inputs' shares, not their product."""
    is_output: bool
    again: tuple[str, ...]
    """The arcs that a product of its inputs' shares counts too often."""


def allowed(load: Load, headroom: float) -> float:
    """The utilisation at which all outputs are in their good zones, within the headroom.

    A limit that no load could meet, since even an empty step takes too long, asks for nothing.
    """
    limits = [good_zone(output.delay) for output in outputs_of(load.network)]
    bearable = [load.bearable(PLANNED * limit) for limit in limits if 2.2 * load.fixed < limit < math.inf]
    return min([headroom, *(MARGIN * one for one in bearable)])


def measure(
    window: Window, network: NetworkValue, cores: int, rates_of: Mapping[str, float] | None = None
) -> Load | None:
    """The load that a window shows; None if it has no step that read a tuple.

    `rates_of` are rates of the sources to assume in the place of those in the window.
    """
    sources = network.source_names
    if not any(step.sources[name].tuples for step in window.steps for name in sources if name in step.sources):
        return None
    kept = kept_of(window, network)
    counted = {box.name: window.box(box.name) for box in network.boxes}
    base: dict[Port, float] = {}
    shares: dict[Port, float] = {}
    again = counted_again(network) if kept else {}
    unread = {name: arc for name in sources if (arc := _unread(window, network, name))}
    skipped = {
        name: sum(step.sources[name].unread or 0 for step in window.steps if name in step.sources) for name in unread
    }
    for box in network.order:  # what would have left each port in the window, had all been kept
        pass_on(network, box, shares, kept, base, again)
        for name in box.outputs:
            share = shares[Port(box.name, name)]
            left = counted[box.name].tuples_out.get(name, 0) + (
                skipped.get(box.name, 0) if name == box.outputs[0] else 0
            )
            base[Port(box.name, name)] = left / share if share else 0.0
    arriving = {name: arrival_rate(window.steps, name) for name in sources} if rates_of is None else rates_of
    rates: dict[Port, float] = {}
    waits = {arc for step in window.steps for arc in step.held}
    usual = without_odd_steps(window)
    cost: dict[str, float] = {}
    calls: dict[str, float] = {}
    for box in network.order:
        entered = sum(counted[box.name].tuples_in.values()) if box.inputs else 0
        left = sum(counted[box.name].tuples_out.values())
        tuples = entered or left
        calls[box.name], cost[box.name] = _call_and_tuple(window, usual, box.name) if tuples else (0.0, 0.0)
        arrivals = network.arrivals(box)
        before = 0.0  # what came of the inputs' streams, but for tuples that wait in a queue
        for name, begin in arrivals.items():
            end = Port(box.name, name)
            waited = str(Arc(begin, end)) in waits and shares[end]
            before += counted[box.name].tuples_in.get(name, 0) / shares[end] if waited else base[begin]
        comes = sum(rates[begin] for begin in arrivals.values())
        for port in (Port(box.name, out) for out in box.outputs):
            if arrivals:
                rates[port] = base[port] * comes / before if before else 0.0
            else:
                whole = sum(base[Port(box.name, other)] for other in box.outputs)
                rates[port] = arriving[box.name] * base[port] / whole if whole else 0.0
    fixed, stretch = fit(usual.steps, cores, calls, window.shortest)
    load = Load(network, cost, rates, fixed, stretch, kept=kept, unread=unread)
    last = window.steps[-1].sources
    queue = sum(last[name].waiting or 0 for name in sources if name in last)
    comes = sum(arriving[name] for name in sources)
    per_tuple = load.work(kept) / comes if comes else 0.0
    return replace(load, waiting=queue * per_tuple)


def _unread(window: Window, network: NetworkValue, source: str) -> str | None:
    """The only arc of a source that need not read what is left out there; None if it reads all."""
    figures = window.steps[-1].sources.get(source)
    ends = [arc for arc in network.arcs if arc.begin.box == source]
    return str(ends[0]) if figures is not None and figures.unread is not None and len(ends) == 1 else None


def _call_and_tuple(window: Window, usual: Window, box: str) -> tuple[float, float]:
    """Seconds of a core that a call of a box costs by itself, and c(b), by the usual steps of a window; as long as
    nothing tells the two apart, a tuple bears all."""
    known = window.call_cost(box)
    if known is None:
        return 0.0, cost_in(usual, box) or cost_in(window, box)
    done = usual.box(box)
    expected = known.fixed * usual.calls(box) + known.per_tuple * done.tuples
    drift = min(DRIFT, max(1 / DRIFT, done.seconds / expected)) if expected else 1.0
    return drift * known.fixed, drift * known.per_tuple


def cost_in(window: Window, box: str) -> float:
    """Seconds of a core for each tuple that entered a box in a window, or left it, for a source; 0 if none did."""
    figures = window.box(box)
    return figures.seconds / figures.tuples if figures.tuples else 0.0


def without_odd_steps(window: Window) -> Window:
    """A window without the steps that say nothing of what tuples cost: a first step that loads libraries, a machine
    that slept. A step is odd if it took `ODD` times as long for a tuple as is usual, and a good part of all the time.
    """
    known = []
    for step in window.steps:
        if tuples := sum(source.tuples for source in step.sources.values()):
            known.append((sum(box.seconds for box in step.boxes.values()) / tuples, tuples, step))
    if len(known) < ENOUGH_STEPS:
        return window
    usual, half = 0.0, sum(tuples for _, tuples, _ in known) / 2
    for cost, tuples, _ in sorted(known, key=lambda one: one[0]):
        usual, half = cost, half - tuples
        if half <= 0:
            break
    least = sum(cost * tuples for cost, tuples, _ in known) / len(known)
    odd = {step.step for cost, tuples, step in known if cost > ODD * usual and cost * tuples > least}
    return Window(math.inf, [step for step in window.steps if step.step not in odd]) if odd else window


def recent(window: Window, seconds: float) -> list[StepFigures]:
    """The steps that were planned in the last seconds of a window; at least two, if it has them."""
    steps = list(window.steps)
    first = len(steps) - 1
    while first > 0 and (steps[-1].born - steps[first].born < seconds or first > len(steps) - 2):
        first -= 1
    return steps[first:]


def arrival_rate(steps: Iterable[StepFigures], source: str) -> float:
    """Tuples a second that arrive at a source, read or not; what is read, where the source does not know what waits.

    Between the plans of two steps arrives what the later ones read, and what waits more at the end.
    """
    known = [(step, figures) for step in steps if (figures := step.sources.get(source)) is not None]
    if len(known) < 2 or known[-1][0].born <= known[0][0].born:
        seconds = sum(step.seconds for step, _ in known)
        return sum(figures.tuples for _, figures in known) / seconds if seconds else 0.0
    (first, before), (last, after) = known[0], known[-1]
    read = sum(figures.tuples for _, figures in known[1:])
    grown = after.waiting - before.waiting if before.waiting is not None and after.waiting is not None else 0
    return max(0.0, (read + grown) / (last.born - first.born))


def fit(
    steps: Iterable[StepFigures],
    cores: int,
    calls: Mapping[str, float] | None = None,
    shortest: float = math.inf,
) -> tuple[float, float]:
    """F and e of some steps, by the seconds that their boxes took for tuples; what a call costs belongs to F.

    F is no longer than the shortest step that is known. Under load all steps of a window are long and alike, and most
    of each could seem to be its fixed cost.
    """
    calls = calls or {}
    points = [
        (sum(max(0.0, box.seconds - calls.get(name, 0.0)) for name, box in step.boxes.items()), step.seconds)
        for step in list(steps)[-100:]
    ]
    fixed, stretch = fit_points(points, cores)
    if fixed > shortest:
        slopes = [(seconds - shortest) / work for work, seconds in points if work > 0 and seconds > shortest]
        return shortest, max(stretch, median(slopes)) if slopes else stretch
    return fixed, stretch


def fit_points(points: list[tuple[float, float]], cores: int) -> tuple[float, float]:
    """F and e from the work and the duration of steps: by the median of pairs, one with little work and one with much;
    where all are alike, e is 1/cores and F what is left."""
    least, most = min(work for work, _ in points), max(work for work, _ in points)
    quarter = (most - least) / 4
    little = [point for point in points if point[0] <= least + quarter][-20:]
    much = [point for point in points if point[0] >= most - quarter][-20:]
    slopes = [(b - a) / (more - less) for less, a in little for more, b in much if more > less * UNLIKE]
    stretch = max(median(slopes), 1 / (2 * cores)) if len(slopes) >= 3 and quarter > 1e-6 else 1 / cores
    fixed = median(seconds - stretch * work for work, seconds in points)
    if fixed < 0:
        worked = [(work, seconds) for work, seconds in points if work > 0]
        return 0.0, median(seconds / work for work, seconds in worked) if worked else 1 / cores
    return fixed, stretch
