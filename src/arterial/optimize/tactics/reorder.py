"""Puts what leaves out much for little first: by (1 - s) / c, of boxes that may change places (Aurora §3).

s is the selectivity of a box and c what a tuple costs there. A Filter moves before a Map that computes none of the
columns it reads, and before another Filter. It does not move before a filter if it could fail on a tuple which that one
leaves out.
"""

from __future__ import annotations

from arterial.network.box import IN, OUT, Box
from arterial.network.network import NetworkValue
from arterial.optimize.moves import is_between, is_filter, swapped
from arterial.optimize.tactic import Figures

AHEAD = 1.05
"""So much greater must the rank of a box be than that of the one before it."""


def reorder(network: NetworkValue, figures: Figures) -> NetworkValue:
    """The network in which neighbours that commute stand in the order of their ranks.

    >>> from arterial import Network
    >>> from arterial.optimize import measured
    >>> net = Network("n")
    >>> some = net.source("s", {"time": int, "x": int}).map("more", y="x * x").filter("few", "x > 9").output("o")
    >>> figures = {"more": measured(1.0, cost=5e-6), "few": measured(0.1)}
    >>> [box.name for box in reorder(net.value, figures).order]
    ['s', 'few', 'more', 'o']
    """
    while (better := _one_swap(network, figures)) is not None:
        network = better
    return network


def _one_swap(network: NetworkValue, figures: Figures) -> NetworkValue | None:
    for later in network.order:
        if not is_filter(later) or later.used - {OUT}:
            continue
        first = network.box(network.arrivals(later)[IN].box)
        if _may_pass(network, later, first) and _is_ahead(later, first, figures):
            moved = swapped(network, later, first, IN)
            if moved is not None:
                return moved
    return None


def _may_pass(network: NetworkValue, later: Box, first: Box) -> bool:
    """Whether a filter may stand before the box that feeds it."""
    if first.inputs != (IN,) or first.outputs[:1] != (OUT,) or not is_between(network, first, later.name):
        return False
    if is_filter(first) and not later.never_fails:
        return False
    stream = first.fed_by[IN]
    return first.stateless and first.commutes_with(later.reads(later.fed_by[IN]), stream)


def _is_ahead(later: Box, first: Box, figures: Figures) -> bool:
    one, other = rank(figures, first.name), rank(figures, later.name)
    return one is not None and other is not None and other > 0 and other > AHEAD * one


def rank(figures: Figures, name: str) -> float | None:
    """(1 - s) / c of a box: the share of tuples that it takes away for each second; None if it is not known."""
    if name not in figures or (cost := figures[name].cost) is None:
        return None
    share = figures[name].share(OUT)
    assert share is not None
    return (1 - share) / max(cost, 1e-12)
