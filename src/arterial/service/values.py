"""Intervals of a value graph, and histograms over them: how many tuples of which worth an output gave (Aurora §4.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import polars as pl

from arterial.network.qos import Graph, utility_at

Histogram = Mapping[str, int]
"""Numbers of tuples by the name of their interval."""

PARTS = 8
"""Each line of a graph is divided into so many intervals."""

NULL = "null"
"""The interval of tuples without a value; they are worth the least that the graph has."""


@dataclass(frozen=True)
class Interval:
    """The values from `low` on and below `high`, and what a tuple in it is worth."""

    low: float
    high: float
    worth: float

    @property
    def name(self) -> str:
        """Its name in a histogram."""
        return f"{self.low!r}…{self.high!r}"

    @property
    def is_finite(self) -> bool:
        """Whether it has two ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@lru_cache(maxsize=256)
def intervals(graph: Graph) -> tuple[Interval, ...]:
    """All intervals of a graph, from the least value to the greatest.

    >>> [one.name for one in intervals(((0.0, 0.0), (8.0, 1.0)))][:3]
    ['-inf…0.0', '0.0…1.0', '1.0…2.0']
    """
    inner = [float(x) for (a, _), (b, _) in pairwise(graph) for x in np.linspace(a, b, PARTS + 1)[:-1]]
    edges = [-math.inf, *inner, graph[-1][0], math.inf]
    return tuple(Interval(low, high, _worth(graph, low, high)) for low, high in pairwise(edges))


def histogram(values: pl.Series, graph: Graph) -> dict[str, int]:
    """How many values are in each interval; those with none are left out. NaN is greater than any number."""
    known = intervals(graph)
    nulls = values.null_count()
    numbers = values.drop_nulls().cast(pl.Float64).to_numpy()
    places = np.searchsorted([one.low for one in known[1:]], np.nan_to_num(numbers, nan=math.inf), side="right")
    counts = np.bincount(places, minlength=len(known))
    found = {one.name: int(count) for one, count in zip(known, counts, strict=True) if count}
    return {**found, NULL: nulls} if nulls else found


def worth_of(counts: Histogram, graph: Graph) -> float:
    """What the tuples of a histogram are worth together."""
    worths = {one.name: one.worth for one in intervals(graph)}
    least = min(utility for _, utility in graph)
    return sum(count * worths.get(name, least) for name, count in counts.items())


def _worth(graph: Graph, low: float, high: float) -> float:
    if not math.isfinite(low):
        return graph[0][1]
    return graph[-1][1] if not math.isfinite(high) else utility_at(graph, (low + high) / 2)
