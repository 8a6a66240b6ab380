"""Quality of service: what an answer is worth to the application, by its delay, by how many come, by its value (§4.1).

A graph is piecewise linear, normalised (its greatest utility is 1) and, where controllers walk along it, monotone and
concave: a further loss costs at least as much as the one before, until nothing is left to lose.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from arterial.errors import NetworkError
from arterial.network.drawn_at import drawn_at

Graph = tuple[tuple[float, float], ...]
"""A piecewise-linear graph: points (x, utility) in the order of x; level before the first and after the last."""

Points = Sequence[tuple[float, float]]

_CLOSE = 1e-9


@dataclass(frozen=True)
class Delay:
    """An answer is worth 1 up to a delay of `good` seconds, 0 from `zero` seconds on, and on the line between."""

    good: float
    zero: float

    def __post_init__(self) -> None:
        try:
            fits = 0 <= self.good < self.zero < math.inf
        except TypeError:
            raise NetworkError(
                f"Delay: expected two numbers of seconds, got good={self.good!r}, zero={self.zero!r}{drawn_at()}"
            ) from None
        if not fits:
            order = f"; did you mean Delay({self.zero!r}, {self.good!r})?" if 0 <= self.zero < self.good else ""
            raise NetworkError(
                f"Delay: expected 0 ≤ good < zero, both finite, got good={self.good!r}, zero={self.zero!r}"
                f"{order}{drawn_at()}"
            )

    @property
    def graph(self) -> Graph:
        """The two points where it bends."""
        return ((float(self.good), 1.0), (float(self.zero), 0.0))


@dataclass(frozen=True)
class QoS:
    """What an application asks of an output (Aurora §4.1). Graphs are points (x, utility), as many as it takes.

    Parameters:
        delay: what an answer is worth by its delay in seconds: `Delay(good, zero)`, or points.
        share: what the output is worth by the share of its tuples that is delivered, from 0 to 1.
        value: a column of numbers, and what an answer is worth by it: ("speed", [(0, 0.1), (100, 1)]).
        weight: how much the output counts beside others.

    >>> QoS(delay=Delay(2, 10), share=[(0, 0), (0.8, 1), (1, 1)]).share
    ((0.0, 0.0), (0.8, 1.0), (1.0, 1.0))
    """

    delay: Delay | Points = ()
    share: Points = ()
    value: tuple[str, Points] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        try:
            delay = self.delay.graph if isinstance(self.delay, Delay) else check_delay(self.delay)
            share = check_share(self.share)
            weight = check_weight(self.weight)
            value = None
            if self.value is not None:
                if not (isinstance(self.value, tuple) and len(self.value) == 2 and isinstance(self.value[0], str)):
                    raise NetworkError(f'value: expected ("column", [(x, utility), …]), got {self.value!r}')
                value = (self.value[0], check_value(self.value[1]))
        except NetworkError as mistake:
            raise NetworkError(f"QoS: {mistake}{drawn_at()}") from None
        for name, checked in {"delay": delay, "share": share, "value": value, "weight": weight}.items():
            object.__setattr__(self, name, checked)

    @property
    def graph(self) -> Graph:
        """The graph of delay; empty if there is none."""
        return self.delay.graph if isinstance(self.delay, Delay) else tuple(self.delay)


def utility_at(graph: Graph, x: float) -> float:
    """The utility at a place; that of the nearest end outside of the points.

    >>> utility_at(Delay(2, 10).graph, 6)
    0.5
    """
    place = bisect_right(graph, x, key=lambda point: point[0])
    if place == 0:
        return graph[0][1]
    if place == len(graph):
        return graph[-1][1]
    (a, low), (b, high) = graph[place - 1], graph[place]
    return low + (high - low) * (x - a) / (b - a)


def good_zone(delay: Graph) -> float:
    """δ: the longest delay that costs nothing (Aurora §4.1); infinite without a graph."""
    return max((x for x, utility in delay if utility >= 1), default=math.inf)


def check_delay(points: Points) -> Graph:
    """A graph of delay: it begins with 1, and falls ever more steeply until it stays."""
    graph = _graph("delay", points)
    if not graph:
        return graph
    if graph[0][0] < 0:
        raise NetworkError(f"delay: expected seconds from 0 on, got {graph[0][0]:g}")
    if graph[0][1] != 1:
        raise NetworkError(f"delay: expected it to begin with the utility 1, got {graph[0][1]:g} at {graph[0][0]:g} s")
    losses = [-slope for slope in _slopes(graph)]
    if any(loss < -_CLOSE for loss in losses):
        raise NetworkError(f"delay: expected a graph that never rises with the delay, got {_shown(graph)}")
    _require_concave("delay", losses, graph, "second")
    return graph


def check_share(points: Points) -> Graph:
    """A graph of the delivered share: it rises from share 0 to the utility 1 at share 1, ever less steeply."""
    graph = _graph("share", points)
    if not graph:
        return graph
    if not (graph[0][0] >= 0 and graph[-1] == (1.0, 1.0)):
        raise NetworkError(f"share: expected shares from 0 to 1 with the utility 1 at share 1, got {_shown(graph)}")
    losses = _slopes(graph)[::-1]
    if any(loss < -_CLOSE for loss in losses):
        raise NetworkError(f"share: expected a graph that never falls as more is delivered, got {_shown(graph)}")
    _require_concave("share", losses, graph, "tuple left out")
    return graph


def check_value(points: Points) -> Graph:
    """A graph of values: any shape, normalised."""
    graph = _graph("value", points)
    if graph and max(utility for _, utility in graph) != 1:
        raise NetworkError(
            f"value: expected 1 as the greatest utility, got {_shown(graph)}; divide all by the greatest"
        )
    return graph


def check_weight(weight: float) -> float:
    """A number above 0."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise NetworkError(f"weight: expected a number above 0, got {weight!r}")
    return float(weight)


def _graph(name: str, points: Points) -> Graph:
    try:
        graph = tuple((float(x), float(utility)) for x, utility in points)
    except (TypeError, ValueError):
        raise NetworkError(f"{name}: expected points (x, utility), got {points!r}") from None
    if any(not math.isfinite(x) for x, _ in graph) or any(b <= a for (a, _), (b, _) in pairwise(graph)):
        raise NetworkError(f"{name}: expected points in rising order of x, got {_shown(graph)}")
    if any(not 0 <= utility <= 1 for _, utility in graph):
        raise NetworkError(f"{name}: expected utilities from 0 to 1, got {_shown(graph)}")
    return graph


def _slopes(graph: Graph) -> list[float]:
    return [(high - low) / (b - a) for (a, low), (b, high) in pairwise(graph)]


def _require_concave(name: str, losses: Sequence[float], graph: Graph, unit: str) -> None:
    """Losses rise along the way; only at its end, where nothing is left to lose, they may be 0."""
    while losses and abs(losses[-1]) <= _CLOSE:
        losses = losses[:-1]
    if any(later < earlier - _CLOSE for earlier, later in pairwise(losses)):
        raise NetworkError(
            f"{name}: expected each further {unit} to cost at least as much as the one before, so that losses can be "
            f"weighed step by step (Aurora §4.1), got {_shown(graph)}"
        )


def _shown(graph: Graph) -> str:
    return ", ".join(f"({x:g}, {utility:g})" for x, utility in graph)
