"""Static analysis (Aurora §4.4): is the machine large enough for a network at given rates, and what gives way first?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from arterial.figures.window import Window
from arterial.network.network import NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.load import Load, cost_in, fit_points, measure
from arterial.service.utility import outputs_of


@dataclass(frozen=True)
class BoxAnalysis:
    """What a box has to do at the given rates."""

    name: str
    kind: str
    rate: float
    """Tuples a second that enter it."""
    cost: float
    """c(b), in seconds of a core."""
    selectivity: float | None
    """s(b); None if nothing entered it."""
    work: float
    """Seconds of a core in a second."""


@dataclass(frozen=True)
class OutputAnalysis:
    """How an output fares."""

    name: str
    limit: float
    """δ, the end of its good zone; infinite without a graph."""
    delay: float
    """The worst delay at the given rates; infinite if they cannot be borne."""
    path: float
    """The cost of one tuple on the longest path to it, in seconds."""
    leaves_at: float
    """It leaves its good zone at so many times the given rates; 0: at any rate."""

    @property
    def is_feasible(self) -> bool:
        """Whether its limit can be met at all (Aurora §4.1)."""
        return self.leaves_at > 0


@dataclass(frozen=True)
class Analysis:
    """What static analysis says of a network at given rates."""

    rates: Mapping[str, float]
    boxes: tuple[BoxAnalysis, ...]
    outputs: tuple[OutputAnalysis, ...]
    cores: int
    headroom: float
    fixed: float
    min_cap: float
    """Seconds of a core in a second that the rates need."""
    utilisation: float
    """ρ: the share of the time that goes into tuples."""
    saturates_at: float
    """Queues grow without bound from so many times the given rates on."""

    @property
    def is_sized(self) -> bool:
        """Whether the rates are within the headroom: min_cap ≤ C·H, and ρ ≤ H where steps cost more than boxes."""
        return max(self.min_cap / self.cores, self.utilisation) <= self.headroom

    @property
    def bottleneck(self) -> BoxAnalysis | None:
        """The box with the most work."""
        return max((box for box in self.boxes if box.work), key=lambda box: box.work, default=None)

    @property
    def first_to_leave(self) -> OutputAnalysis | None:
        """The output that leaves its good zone at the lowest rate; the tighter limit among equals."""
        limited = [output for output in self.outputs if math.isfinite(output.limit)]
        return min(limited, key=lambda output: (output.leaves_at, output.limit), default=None)


def analyse(
    window: Window, network: NetworkValue, rates: Mapping[str, float], cores: int, headroom: float, train_size: int
) -> Analysis | None:
    """What the costs of a run say of other rates; None if the run read nothing. Sources without a rate give nothing."""
    load = load_of(window, network, rates, cores)
    return None if load is None else analyse_load(load, rates, cores, headroom, train_size)


def load_of(window: Window, network: NetworkValue, rates: Mapping[str, float], cores: int) -> Load | None:
    """The load at given rates, by the costs of a run on so many cores; None if it read nothing."""
    if not window.steps:
        return None
    steps = list(window.steps)
    counts = [sum(source.tuples for source in step.sources.values()) for step in steps]
    # In short trains a tuple bears more of what the call of a box costs; that belongs to the step, not to the tuple.
    # The first long ones touch new memory and run code that Java has not compiled yet.
    long = [place for place, count in enumerate(counts) if count >= max(counts) / 2]
    cold, warm = long[: len(long) // 2], long[len(long) // 2 :]
    given = {box.name: rates.get(box.name, 0.0) for box in network.boxes}
    among = Window(math.inf, [steps[place] for place in warm])
    load = measure(among, network, cores, given)
    if load is None:
        return None
    load = replace(load, cost={name: cost_in(among, name) for name in load.cost})
    work = sum(box.seconds for place in warm for box in steps[place].boxes.values()) / sum(
        counts[place] for place in warm
    )
    points = [(work * count, steps[place].seconds) for place, count in enumerate(counts) if place not in cold]
    fixed, stretch = fit_points(points, cores)
    return replace(load, fixed=fixed, stretch=stretch)


def analyse_load(load: Load, rates: Mapping[str, float], cores: int, headroom: float, train_size: int) -> Analysis:
    """The analysis of a load."""
    network = load.network
    work = load.work_by_box()
    utilisation = load.utilisation()
    comes = sum(rates.values())
    per_tuple = utilisation / comes if comes else 0.0
    most = train_size / (load.fixed + per_tuple * train_size) if per_tuple else math.inf
    boxes = []
    for box in network.order:
        arrivals = network.arrivals(box)
        left = sum(load.rates.get(Port(box.name, port), 0.0) for port in box.outputs)
        rate = sum(load.rates.get(begin, 0.0) for begin in arrivals.values()) if arrivals else left
        selectivity = left / rate if rate and box.outputs else None
        boxes.append(BoxAnalysis(box.name, box.kind, rate, load.cost.get(box.name, 0.0), selectivity, work[box.name]))
    outputs = []
    paths = _longest_paths(load)
    for output in outputs_of(network):
        limit = good_zone(output.delay)
        bearable = 1.0 if math.isinf(limit) else load.bearable(limit) if paths[output.name] <= limit else 0.0
        leaves = bearable / utilisation if utilisation else math.inf if bearable else 0.0
        outputs.append(OutputAnalysis(output.name, limit, load.delay(utilisation), paths[output.name], leaves))
    return Analysis(
        dict(rates),
        tuple(boxes),
        tuple(outputs),
        cores,
        headroom,
        load.fixed,
        sum(work.values()),
        utilisation,
        most / comes if comes else math.inf,
    )


def _longest_paths(load: Load) -> dict[str, float]:
    """The cost of one tuple on the most expensive path from a source to each box."""
    longest: dict[str, float] = {}
    for box in load.network.order:
        before = max((longest[begin.box] for begin in load.network.arrivals(box).values()), default=0.0)
        longest[box.name] = before + load.cost.get(box.name, 0.0)
    return longest
