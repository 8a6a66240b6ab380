"""The value curve of an output: what is left of its worth when the least valued tuples are left out (Aurora §4.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from arterial.network.qos import Graph
from arterial.service.values import NULL, Histogram, Interval, intervals


@dataclass(frozen=True)
class Curve:
    """The intervals of an output, the least valued first, each with its share of the tuples."""

    graph: Graph
    counts: tuple[tuple[str, int], ...]
    """The histogram of its values when none is left out by a predicate."""

    @classmethod
    def of(cls, graph: Graph, counts: Histogram) -> Curve:
        """The curve of a histogram."""
        return cls(graph, tuple(sorted(counts.items())))

    @cached_property
    def steps(self) -> tuple[tuple[Interval | None, float, float], ...]:
        """Interval (None: no value), share of the tuples, worth of a tuple; the least valued first."""
        counts = dict(self.counts)
        whole = sum(counts.values())
        least = min(utility for _, utility in self.graph)
        found: list[tuple[Interval | None, float, float]] = [
            (one, counts[one.name] / whole, one.worth) for one in intervals(self.graph) if counts.get(one.name)
        ]
        if counts.get(NULL):
            found.insert(0, (None, counts[NULL] / whole, least))
        return tuple(sorted(found, key=lambda step: step[2]))

    def worth_left(self, out: float) -> float:
        """The share of the worth that stays when this share of the tuples is left out, the least valued first."""
        whole = sum(share * worth for _, share, worth in self.steps)
        if not whole:
            return 1 - out
        lost = 0.0
        for _, share, worth in self.steps:
            lost += min(share, max(out, 0.0)) * worth
            out -= share
        return 1 - lost / whole

    def next_stop(self, out: float, step: float) -> float:
        """The next share that a predicate can leave out, about `step` further; an interval without an end goes whole.

        The most valued intervals stay: of them, only chance may leave tuples out.
        """
        best = self.steps[-1][2] if self.steps else 0.0
        before = 0.0
        for interval, share, worth in self.steps:
            if worth >= best:
                return before
            if out < before + share - 1e-9:
                return min(out + step, before + share) if interval and interval.is_finite else before + share
            before += share
        return before

    def keep(self, text: str, out: float) -> str | None:
        """The condition on the value that leaves this share out; None if it leaves nothing out."""
        text = f"({text})" if " " in text else text
        gone: list[tuple[float, float]] = []
        without_value = False
        for interval, share, _ in self.steps:
            if out <= 1e-9:
                break
            if interval is None:
                without_value = True
            elif out >= share - 1e-9 or not interval.is_finite:
                gone.append((interval.low, interval.high))
            else:
                gone.append((interval.low, interval.low + (interval.high - interval.low) * out / share))
            out -= share
        if not gone and not without_value:
            return None
        inside = " and ".join(f"not {_between(text, low, high)}" for low, high in _merged(gone)) or "true"
        return f"{text} is not null and {inside}" if without_value else f"{text} is null or ({inside})"


def _between(text: str, low: float, high: float) -> str:
    parts = [f"{text} >= {low!r}"] if math.isfinite(low) else []
    parts += [f"{text} < {high!r}"] if math.isfinite(high) else []
    return f"({' and '.join(parts) or 'true'})"


def _merged(gone: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for low, high in sorted(gone):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
