"""The network that settles what was left out on an arc: the boxes behind it, with a source in the place of the arc."""

from __future__ import annotations

from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.errors import RunError
from arterial.network.box import IN, OUT, Box
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.thinned import boxes_behind, why_not_settled


def settling_network(network: NetworkValue, arc: Arc) -> tuple[NetworkValue, str]:
    """The network, and the name of the source that is given what was left out. Other sources, in the place of other
    streams that a union merges, are given nothing."""
    if (why := why_not_settled(network, arc)) is not None:
        raise RunError(f"network {network.name!r}: what was left out on the arc {arc} cannot be settled: {why}")
    behind = {box.name: box for box in boxes_behind(network, arc)}
    boxes: list[Box] = []
    arcs: list[Arc] = []
    source = ""
    for other in network.arcs:
        if other.end.box not in behind:
            continue
        if other != arc and other.begin.box in behind:
            arcs.append(other)
            continue
        begin = _begin(network, other, boxes, arcs)
        arcs.append(Arc(begin, other.end))
        if other == arc:
            source = _name(other)
    return NetworkValue(network.name, (*boxes, *behind.values()), tuple(arcs)), source


def _begin(network: NetworkValue, arc: Arc, boxes: list[Box], arcs: list[Arc]) -> Port:
    """A source in the place of an arc, with the groups that its stream has."""
    stream, name = network.streams[arc.begin], _name(arc)
    boxes.append(Source(name, stream.schema, stream.time, 0, stream.signed))
    begin = Port(name, boxes[-1].outputs[0])
    if not stream.keyed_by:
        return begin
    boxes.append(GroupBy(f"{name} grouped", stream.keyed_by))
    arcs.append(Arc(begin, Port(f"{name} grouped", IN)))
    return Port(f"{name} grouped", OUT)


def _name(arc: Arc) -> str:
    return f"left out before {arc.end}"
