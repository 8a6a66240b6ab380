"""Forward propagation (Aurora §4.5): estimate a predicate at the split point, watch the output, and correct it.

Where the value of an output cannot be computed upstream, a column that the box in between reads may still go with it.
An estimate keeps the tuples above a threshold (or below it) in that column. It begins where the output's own values are
cut, and each correction halves the interval in which the threshold lies, until about the wanted share is left out. If
the output then gets no more worth than by chance, the other side is tried, then the next column, then chance it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from arterial.boxes.ends.output import Output
from arterial.network.expression.parser import quoted
from arterial.network.network import NetworkValue
from arterial.service.shedding.points import Point, drop_points
from arterial.service.shedding.upstream import value_point

CLOSE = 0.1
"""A share is met if it is missed by at most this."""

BETTER = 0.05
"""An estimate is worth keeping if so much more of the worth arrives than by chance."""

TRIES = 12
"""After so many corrections a threshold is as good as it gets."""


@dataclass(frozen=True)
class Estimate:
    """A predicate on trial: `column` above the threshold, or below it."""

    arc: str
    columns: tuple[str, ...]
    """The columns that are still to be tried, this one first; none: it is given up."""
    threshold: float = 0.0
    above: bool = True
    low: float = -math.inf
    high: float = math.inf
    tries: int = 0

    @property
    def keep(self) -> str | None:
        """The condition for a tuple to stay; None if the estimate is given up."""
        if not self.columns:
            return None
        column = quoted(self.columns[0])
        return f"{column} is null or {column} {'>=' if self.above else '<'} {self.threshold!r}"


def first_estimate(network: NetworkValue, output: Output, threshold: float) -> Estimate | None:
    """Where to begin: at the split point of the output, with the columns that are read on the way to it.

    None if the value is known at the split point already (`value_point`), or nothing may be left out there.
    """
    split = split_point(network, output)
    known = value_point(network, output)
    if split is None or (known is not None and known.arc == split.arc):
        return None
    stream = network.streams[split.arc.begin]
    read = _read_on_the_way(network, split)
    columns = [f.name for f in stream.schema if f.type.is_number and f.name in read and f.name != stream.time]
    return Estimate(split.name, tuple(columns), threshold) if columns else None


def split_point(network: NetworkValue, output: Output) -> Point | None:
    """The most upstream arc that leads to this output alone and may be thinned."""
    return next((point for point in drop_points(network) if point.outputs == {output.name}), None)


def corrected(estimate: Estimate, wanted: float, left_out: float, worth_left: float) -> Estimate:
    """The next estimate, after one that left out this share of the tuples and brought this share of the worth."""
    if not estimate.columns:
        return estimate
    done = abs(left_out - wanted) <= CLOSE or estimate.tries >= TRIES
    if done and worth_left >= 1 - left_out + BETTER * left_out:
        return replace(estimate, tries=estimate.tries + 1)
    if done:
        return _next_trial(estimate)
    more = left_out < wanted
    rises = more == estimate.above  # to leave out more, the threshold of "above" rises and that of "below" falls
    low, high = (estimate.threshold, estimate.high) if rises else (estimate.low, estimate.threshold)
    return replace(estimate, threshold=_between(low, high), low=low, high=high, tries=estimate.tries + 1)


def _next_trial(estimate: Estimate) -> Estimate:
    if estimate.above:
        return Estimate(estimate.arc, estimate.columns, estimate.threshold, above=False)
    return Estimate(estimate.arc, estimate.columns[1:], estimate.threshold)


def _between(low: float, high: float) -> float:
    """The middle, or twice as far out where one end is not known yet."""
    if math.isinf(high):
        return low + max(1.0, abs(low))
    return high - max(1.0, abs(high)) if math.isinf(low) else (low + high) / 2


def _read_on_the_way(network: NetworkValue, split: Point) -> set[str]:
    """The columns that boxes behind the split point look at."""
    read: set[str] = set()
    box = network.box(split.arc.end.box)
    while box.outputs:
        read |= box.reads(box.fed_by[box.inputs[0]])
        ends = [arc.end for arc in network.arcs if arc.begin.box == box.name]
        if len(ends) != 1 or len(box.inputs) != 1:
            break
        box = network.box(ends[0].box)
    return read
