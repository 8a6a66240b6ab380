"""Moves a movable box below a filter or a match, or above, as its selectivity says (GPAC §6.1).

A box that lets through little saves all boxes above it the rest. So it pays to have it at the bottom while it lets
through less than about a third of what it gets; above that the filter comes first.
"""

from __future__ import annotations

from collections.abc import Callable

from arterial.boxes.joins.join import LEFT, RIGHT, both_sides
from arterial.boxes.signed.match import Match
from arterial.network.box import IN, OUT, Box
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import reads
from arterial.network.network import Arc, NetworkValue, Port
from arterial.optimize.moves import is_between, is_filter, swapped
from arterial.optimize.tactic import Figures

PAYS_BELOW = 1 / 3
"""A box goes to the bottom if it lets through less than this share (§6.1.1)."""


def push_down(network: NetworkValue, figures: Figures, pays_below: float = PAYS_BELOW) -> NetworkValue:
    """The network with movable boxes where their selectivities want them.

    A box whose selectivity is not known stays. For a network that does not run yet: the state of a box that was moved
    is not that of its new place. What every output stands for at every instant stays the same.

    >>> from arterial import Network
    >>> from arterial.moving import gpac_in
    >>> from arterial.optimize import measured
    >>> net = Network("trucks")
    >>> trucks = net.source("s", {"time": int, "object": int, "x": int, "y": int}).latest("now", "object")
    >>> near = gpac_in(trucks.filter("some", "object > 9"), "near", region=(0, 0, 5, 5)).output("o")
    >>> [box.name for box in push_down(net.value, {"near": measured(0.1)}).order]
    ['s', 'now', 'near', 'some', 'o']
    """
    for box in network.order:
        share = figures[box.name].selectivity if box.name in figures else None
        if box.movable and share is not None:
            move = moved_down if share < pays_below else _moved_up
            network = _while_possible(network, box.name, move)
    return network


def _while_possible(
    network: NetworkValue, name: str, move: Callable[[NetworkValue, Box], NetworkValue | None]
) -> NetworkValue:
    while (moved := move(network, network.box(name))) is not None:
        network = moved
    return network


def moved_down(network: NetworkValue, box: Box) -> NetworkValue | None:
    """The box below the one that feeds it, if that leaves all answers as they are."""
    below = network.box(network.arrivals(box)[IN].box)
    if not is_between(network, below, box.name) or box.apart() is not None:
        return None
    if is_filter(below):
        stream = below.fed_by[IN]
        if box.commutes_with(below.reads(stream), stream):
            return swapped(network, box, below, IN)
    elif isinstance(below, Match) and _passes_match(network, box, below):
        return swapped(network, box, below, LEFT)
    return None


def _moved_up(network: NetworkValue, box: Box) -> NetworkValue | None:
    """The box above the filter that it feeds, if that leaves all answers as they are."""
    ends = network.departures(Port(box.name, OUT))
    above = network.box(ends[0].box) if len(ends) == 1 else None
    if above is None or not is_filter(above) or above.used - {OUT}:
        return None
    stream, origin = box.fed_by[IN], network.arrivals(box)[IN]
    if not box.commutes_with(above.reads(above.fed_by[IN]), stream):
        return None
    moved, apart = swapped(network, above, box, IN), box.apart()
    if moved is None or apart is None:
        return moved
    # It must still see what the filter leaves out.
    other, port = apart
    boxes = tuple(other if one.name == box.name else one for one in moved.boxes)
    return NetworkValue(network.name, boxes, (*moved.arcs, Arc(origin, Port(box.name, port))), network.groups)


def _passes_match(network: NetworkValue, box: Box, match: Match) -> bool:
    """Whether a box on the pairs of a match may be on its left rows instead."""
    left = match.fed_by[LEFT]
    schema = both_sides(left.schema, match.fed_by[RIGHT].schema)
    read = frozenset(reads(predicate(match.on, schema))) if match.on is not None else frozenset()
    mine = frozenset(name.partition(".")[2] for name in read if name.startswith(f"{LEFT}."))
    if not left.signed or left.keyed_by or not box.commutes_with(mine, left):
        return False
    if not box.reads(box.fed_by[IN]) <= set(left.schema.names):
        return False
    return _is_forgotten(network, Port(box.name, OUT), box.stale())


def _is_forgotten(network: NetworkValue, port: Port, columns: frozenset[str]) -> bool:
    """Whether nothing that comes of a stream depends on these columns."""
    if not columns:
        return True
    for end in network.departures(port):
        box = network.box(end.box)
        stream = box.fed_by[end.port]
        if not box.stateless or columns & box.reads(stream):
            return False
        rest = columns - box.changes(stream)
        if not all(_is_forgotten(network, Port(box.name, out), rest) for out in box.outputs):
            return False
    return True
