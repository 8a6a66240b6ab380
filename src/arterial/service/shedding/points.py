"""Drop points: the arcs on which it makes sense to leave tuples out (Aurora §4.5).

A drop goes as far upstream as it can without reaching further outputs, up to the split point: there it saves the most
for the same loss. Where a plan may also hold a branch, that is a point too: all of it, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from arterial.network.network import Arc, NetworkValue
from arterial.network.thinned import groups_to_leave_out, why_not_settled, why_not_thinned
from arterial.service.utility import reached_from


@dataclass(frozen=True)
class Point:
    """A place to leave tuples out, by chance or by the value that an output would get; or a branch to hold."""

    arc: Arc
    outputs: frozenset[str]
    """The outputs that then miss tuples."""
    by_value: str | None = None
    """For a drop by value: the expression over the arc's columns that gives the output's value."""
    by: tuple[str, ...] = ()
    """For a drop of whole groups: the columns that they have in common."""
    held: tuple[Arc, ...] = ()
    """For a branch to hold: the arcs with which it begins; `arc` is the first of them."""

    @property
    def name(self) -> str:
        """The arc, as figures name it."""
        return str(self.arc)


def may_leave_out(network: NetworkValue, arc: Arc, *, settled: bool = False) -> bool:
    """Whether tuples may be left out on an arc; with `settled`, so that they can be settled later."""
    return why_not_thinned(network, arc) is None and not (settled and why_not_settled(network, arc))


def drop_points(network: NetworkValue, *, settled: bool = False) -> tuple[Point, ...]:
    """Where to leave tuples out by chance: the first arcs on the way to each set of outputs that may be thinned.

    Where single tuples may not go, whole groups may (Linear Road: all reports of a road).
    """
    reached = reached_from(network)
    allowed: dict[Arc, tuple[str, ...]] = {}
    for arc in network.arcs:
        if reached[arc] and may_leave_out(network, arc, settled=settled):
            allowed[arc] = ()
        elif reached[arc] and not settled and (groups := groups_to_leave_out(network, arc)):
            allowed[arc] = groups
    into: dict[str, list[Arc]] = {}
    for arc in network.arcs:
        into.setdefault(arc.end.box, []).append(arc)
    first = [
        arc
        for arc in sorted(allowed)
        if not any(before in allowed and reached[before] == reached[arc] for before in into.get(arc.begin.box, ()))
    ]
    return tuple(Point(arc, reached[arc], by=allowed[arc]) for arc in first)
