"""Moves a box that watches an area below a selection or a match, or above, as its selectivity says (GPAC §6.1).

A box that lets through only what changes in an area saves all boxes above it the rest. So it pays to have it at the
bottom while it lets through less than about a third of what it gets; above that the selection comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

from arterial.boxes.filter import OTHERWISE, Filter
from arterial.boxes.join import LEFT, RIGHT, both_sides
from arterial.boxes.map import Map
from arterial.boxes.match import Match
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.function import Function
from arterial.network.expression.parser import parse, predicate
from arterial.network.expression.tree import reads
from arterial.network.network import Arc, NetworkValue, Port

PAYS_BELOW = 1 / 3
"""A box goes to the bottom if it lets through less than this share (§6.1.1)."""


@runtime_checkable
class Movable(Protocol):
    """A box that other boxes may be moved past. Its answer is a selection of the rows of its input `in`."""

    focals: bool

    @property
    def focal_port(self) -> str | None:
        """The input on which what it follows reports; None if it follows nothing."""

    def commutes_with(self, read: frozenset[str], stream: Stream) -> bool:
        """Whether a selection that reads these columns may be before it or after it, on such an input."""

    def loosely_read(self) -> frozenset[str]:
        """The columns of its rows that are as of when a row was told, and so depend on the boxes below."""


def push_down(
    network: NetworkValue, selectivities: Mapping[str, float | None], pays_below: float = PAYS_BELOW
) -> NetworkValue:
    """The network with movable boxes where their selectivities (tuples out for each tuple in) want them.

    A box whose selectivity is not known stays. What every output stands for at every instant stays the same.
    """
    for box in network.order:
        if isinstance(box, Movable):
            share = selectivities.get(box.name)
            if share is not None:
                move = _moved_down if share < pays_below else _moved_up
                network = _while_possible(network, box.name, move)
    return network


def _while_possible(
    network: NetworkValue, name: str, move: Callable[[NetworkValue, Box], NetworkValue | None]
) -> NetworkValue:
    while (moved := move(network, network.box(name))) is not None:
        network = moved
    return network


def _moved_down(network: NetworkValue, box: Box) -> NetworkValue | None:
    """The box below the one that feeds it, if that leaves all answers as they are."""
    assert isinstance(box, Movable)
    below = network.box(network.arrivals(box)[IN].box)
    if not _is_between(network, below, box.name):
        return None
    if isinstance(below, Filter):
        if box.focal_port == IN:  # what it follows may be among those that the filter leaves out
            return None
        origin = network.arrivals(below)[IN]
        if not box.commutes_with(_read(below, below.fed_by[IN]), below.fed_by[IN]):
            return None
        return _swapped(network, box, below, origin, IN)
    if isinstance(below, Match) and _passes_match(network, box, below):
        return _swapped(network, box, below, network.arrivals(below)[LEFT], LEFT)
    return None


def _moved_up(network: NetworkValue, box: Box) -> NetworkValue | None:
    """The box above the filter that it feeds, if that leaves all answers as they are."""
    assert isinstance(box, Movable)
    ends = network.departures(Port(box.name, OUT))
    above = network.box(ends[0].box) if len(ends) == 1 else None
    if not isinstance(above, Filter) or network.departures(Port(above.name, OTHERWISE)):
        return None
    stream, origin = box.fed_by[IN], network.arrivals(box)[IN]
    if not box.commutes_with(_read(above, above.fed_by[IN]), stream):
        return None
    moved = _swapped(network, above, box, origin, IN)
    if box.focal_port != IN:
        return moved
    # What it follows must be seen although the filter may leave it out.
    boxes = tuple(replace(one, focals=True) if one.name == box.name else one for one in moved.boxes)  # type: ignore[call-arg]
    port = next(port for one in boxes if one.name == box.name for port in one.inputs if port != IN)
    return NetworkValue(network.name, boxes, (*moved.arcs, Arc(origin, Port(box.name, port))), network.groups)


def _is_between(network: NetworkValue, below: Box, name: str) -> bool:
    """Whether all that leaves a box goes to one other."""
    if not below.outputs:
        return False
    ends = [end for port in below.outputs for end in network.departures(Port(below.name, port))]
    return [end.box for end in ends] == [name] and network.departures(Port(below.name, below.outputs[0])) != ()


def _swapped(network: NetworkValue, lower: Box, upper: Box, origin: Port, port: str) -> NetworkValue:
    """The network in which `lower`, which `upper` feeds, comes first, fed by `origin`; `upper` gets it by `port`."""
    first, then = Port(lower.name, OUT), Port(upper.name, OUT)
    arcs = []
    for arc in network.arcs:
        if arc == Arc(origin, Port(upper.name, port)):
            arcs.append(Arc(first, Port(upper.name, port)))
        elif arc == Arc(then, Port(lower.name, IN)):
            arcs.append(Arc(origin, Port(lower.name, IN)))
        elif arc.begin == first:
            arcs.append(Arc(then, arc.end))
        else:
            arcs.append(arc)
    return NetworkValue(network.name, network.boxes, tuple(arcs), network.groups)


def _passes_match(network: NetworkValue, box: Box, match: Match) -> bool:
    """Whether a box on the pairs of a match may be on its left rows instead."""
    assert isinstance(box, Movable)
    left = match.fed_by[LEFT]
    schema = both_sides(left.schema, match.fed_by[RIGHT].schema)
    read = frozenset(reads(predicate(match.on, schema))) if match.on is not None else frozenset()
    mine = frozenset(name.partition(".")[2] for name in read if name.startswith(f"{LEFT}."))
    if not left.signed or left.keyed_by or box.focal_port == IN or not box.commutes_with(mine, left):
        return False
    needed = [getattr(box, name) for name in ("object", "x", "y")]
    if any(name not in left.schema for name in needed):
        return False
    loose = box.loosely_read()
    return not loose or _is_forgotten(network, Port(box.name, OUT), loose)


def _is_forgotten(network: NetworkValue, port: Port, columns: frozenset[str]) -> bool:
    """Whether nothing that comes of a stream depends on these columns."""
    for end in network.departures(port):
        box = network.box(end.box)
        if isinstance(box, Filter) and not columns & _read(box, box.fed_by[IN]):
            if all(_is_forgotten(network, Port(box.name, out), columns) for out in box.outputs):
                continue
        elif isinstance(box, Map) and box.keep is not None and not columns & {*box.keep, *_read_by_map(box)}:
            continue
        return False
    return True


def _read_by_map(box: Map) -> set[str]:
    schema = box.fed_by[IN].schema
    found: set[str] = set()
    for _, value in box.columns:
        found |= set(value.reads if isinstance(value, Function) else reads(parse(value, schema)))
    return found


def _read(box: Filter, stream: Stream) -> frozenset[str]:
    if isinstance(box.predicate, Function):
        return frozenset(box.predicate.reads)
    return frozenset(reads(predicate(box.predicate, stream.schema)))
