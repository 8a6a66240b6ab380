"""Branches: what leads to some outputs alone, and the arcs on which it can be held back (Aurora §4.3).

A branch begins with the first arcs that can be held. Where streams meet behind them (a join), all are held together, so
that no side waits for another. Which arcs are held changes no answer, whatever they are (decision 34).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from arterial.boxes.ends.output import Output
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.thinned import boxes_behind, why_not_held
from arterial.service.utility import outputs_of, reached_from


@dataclass(frozen=True)
class Branch:
    """What leads to some outputs alone."""

    outputs: tuple[Output, ...]
    arcs: tuple[Arc, ...]
    """Where it begins. While all of them are held, its boxes get nothing new."""
    boxes: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Its arcs, as figures name them."""
        return tuple(str(arc) for arc in self.arcs)


def branches_of(network: NetworkValue, holdable: Collection[str] | None = None) -> tuple[Branch, ...]:
    """All branches, by their outputs: one for each set of outputs that some arc at its beginning leads to.

    `holdable` names the arcs that can be held; without it, all can that boxes allow.
    """
    reached = reached_from(network)
    can = {
        arc: reached[arc]
        for arc in network.arcs
        if reached[arc] and (holdable is None or str(arc) in holdable) and why_not_held(network, arc) is None
    }
    found = []
    for outputs in sorted(set(can.values()), key=sorted):
        arcs = _first(network, {arc for arc, ends in can.items() if ends <= outputs})
        if any(can[arc] == outputs for arc in arcs):
            found.append(_branch(network, arcs, outputs))
    return tuple(found)


def branches_held(network: NetworkValue, held: Collection[str]) -> tuple[Branch, ...]:
    """The arcs that are held as branches: those that lead to the same outputs belong together."""
    reached = reached_from(network)
    parts: list[tuple[frozenset[str], list[Arc]]] = []
    for arc in sorted(arc for arc in network.arcs if str(arc) in held):
        outputs, arcs = reached[arc], [arc]
        for part in [part for part in parts if part[0] & outputs]:
            parts.remove(part)
            outputs, arcs = outputs | part[0], [*part[1], *arcs]
        parts.append((outputs, arcs))
    return tuple(_branch(network, sorted(arcs), outputs) for outputs, arcs in parts)


def late_by(network: NetworkValue, held: Collection[str]) -> frozenset[str]:
    """The outputs that are late since arcs on the way to them are held."""
    return frozenset(name for arc, ends in reached_from(network).items() if str(arc) in held for name in ends)


def _branch(network: NetworkValue, arcs: list[Arc], outputs: frozenset[str]) -> Branch:
    boxes = frozenset(box.name for arc in arcs for box in boxes_behind(network, arc))
    return Branch(tuple(box for box in outputs_of(network) if box.name in outputs), tuple(arcs), boxes)


def _first(network: NetworkValue, arcs: Collection[Arc]) -> list[Arc]:
    """Those of the arcs that are not behind others: a box all of whose inputs are held needs nothing held behind it."""
    first: list[Arc] = []
    covered: set[str] = set()
    for box in network.order:
        into = [Arc(begin, Port(box.name, port)) for port, begin in network.arrivals(box).items()]
        here = [arc for arc in into if arc in arcs and arc.begin.box not in covered]
        first += here
        if into and all(arc in here or arc.begin.box in covered for arc in into):
            covered.add(box.name)
    return first
