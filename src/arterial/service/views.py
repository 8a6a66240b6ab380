"""Which views are kept: those that the run has the headroom for, the cheapest first (Aurora §2.2, §4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from arterial.boxes.ends.view import NONE, SOME, View
from arterial.network.network import NetworkValue

LEAST_SECONDS = 10.0
"""What was measured for less is no ground to change anything."""
SLACK = 0.1
"""A view that is not kept must fit with this share of its cost to spare, so that it does not come and go."""


@dataclass(frozen=True)
class Candidate:
    """A view that may be kept."""

    name: str
    cost: float
    """CPU-seconds a second: of the boxes that only it needs, and of writing its tuples."""
    kept: bool
    good: float = float("inf")
    """The delay up to which its answer is worth most: who waits least is kept first, at equal cost."""


def keeps(candidates: Iterable[Candidate], spare: float, seconds: float) -> Mapping[str, bool]:
    """Whether each view is kept, with so many CPU-seconds a second to spare beside those that are kept now.

    `spare` is capacity times headroom minus the load, in a window of so many `seconds`; it is negative under overload.

    >>> keeps([Candidate("a", 0.2, kept=False), Candidate("b", 0.9, kept=False)], spare=0.5, seconds=60)
    {'a': True, 'b': False}
    """
    given = list(candidates)
    if seconds < LEAST_SECONDS:
        return {one.name: one.kept for one in given}
    left = spare + sum(one.cost for one in given if one.kept)
    decided = {}
    for one in sorted(given, key=lambda one: (one.cost, one.good, one.name)):
        needs = one.cost if one.kept else one.cost * (1 + SLACK)
        decided[one.name] = needs <= left
        if decided[one.name]:
            left -= one.cost
    return {one.name: decided[one.name] for one in given}


def views_of_some(network: NetworkValue) -> list[View]:
    """The views of a network that are kept as far as the headroom goes."""
    return [box for box in network.boxes if isinstance(box, View) and box.materialise == SOME]


def without(network: NetworkValue, views: Iterable[str]) -> NetworkValue:
    """The network in which these views of `some` are kept no longer."""
    gone = {view.name: replace(view, materialise=NONE) for view in views_of_some(network) if view.name in set(views)}
    boxes = tuple(gone.get(box.name, box) for box in network.boxes)
    return NetworkValue(network.name, boxes, network.arcs, network.groups) if gone else network
