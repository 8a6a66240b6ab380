"""Views that are not kept: what a network is without them, and what they are computed from when somebody connects."""

from __future__ import annotations

from collections.abc import Collection

from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.errors import NetworkError, RunError
from arterial.network.box import IN, OUT, Box
from arterial.network.network import Arc, NetworkValue, Port


def without_views(network: NetworkValue) -> NetworkValue:
    """The network without what only views that are not kept would see."""
    unseen = {box.name for box in network.boxes if box.connectable and box.keeping is None}
    unseen = {name for name in unseen if not network.departures(Port(name, OUT))}
    if not unseen:
        return network
    for box in reversed(network.order):
        ends = {end.box for port in box.outputs for end in network.departures(Port(box.name, port))}
        if box.inputs and box.keeping is None and ends and ends <= unseen:
            unseen.add(box.name)
    boxes = tuple(box for box in network.boxes if box.name not in unseen)
    arcs = tuple(arc for arc in network.arcs if arc.begin.box not in unseen and arc.end.box not in unseen)
    groups = {name: tuple(box for box in inside if box not in unseen) for name, inside in network.groups.items()}
    return NetworkValue(network.name, boxes, arcs, groups)


def with_views(network: NetworkValue, whole: NetworkValue, views: Collection[str]) -> NetworkValue | None:
    """The network with views again that `whole` has, and the boxes that only they need; None if they no longer fit."""
    there = {box.name for box in network.boxes}
    wanted, names = set[str](), [name for name in views if name not in there]
    while names:
        name = names.pop()
        if name in wanted or name in there:
            continue
        wanted.add(name)
        names += [begin.box for begin in whole.arrivals(whole.box(name)).values()]
    boxes = tuple(box for box in whole.boxes if box.name in wanted)
    arcs = tuple(arc for arc in whole.arcs if arc.end.box in wanted)
    if any(not box.inputs for box in boxes):
        return None
    groups = {name: tuple(box for box in inside if box in there | wanted) for name, inside in whole.groups.items()}
    try:
        return NetworkValue(
            network.name, (*network.boxes, *boxes), (*network.arcs, *arcs), {**network.groups, **groups}
        )
    except NetworkError:  # another version has other streams there
        return None


def histories(network: NetworkValue, more: NetworkValue) -> dict[str, str] | None:
    """The arcs from which the boxes that only `more` has get their tuples, each with the connection point or kept view
    before it, whose history they begin with; None if one of them begins at a box that keeps nothing."""
    there = {box.name: box for box in network.boxes}
    found = {}
    for arc in more.arcs:
        if arc.end.box in there or arc.begin.box not in there:
            continue
        if there[arc.begin.box].keeping is None:
            return None
        found[str(arc)] = arc.begin.box
    return found


def path_of(network: NetworkValue, view: str) -> tuple[NetworkValue, Port]:
    """The network from the connection points and kept views before a view to it, and where its stream leaves."""
    boxes: dict[str, Box] = {}
    arcs: list[Arc] = []
    ends: dict[Port, Port] = {}

    def take(port: Port) -> Port:
        if port in ends:
            return ends[port]
        box = network.box(port.box)
        if box.keeping is not None:
            ends[port] = _begin(network, port, boxes, arcs)
        elif not box.inputs:
            raise RunError(
                f"network {network.name!r}, view {view!r}: it is computed when somebody connects, and nothing is kept "
                f"on the way from the source {box.name!r}; draw a connection point there, or materialise the view"
            )
        else:
            if box.name not in boxes:
                boxes[box.name] = box
                for name, begin in network.arrivals(box).items():
                    arcs.append(Arc(take(begin), Port(box.name, name)))
            ends[port] = port
        return ends[port]

    end = take(network.arrivals(network.box(view))[IN])
    used = {arc.begin for arc in arcs} | {end}
    order = [box for box in boxes.values() if box.inputs or any(port.box == box.name for port in used)]
    return NetworkValue(network.name, tuple(order), tuple(arcs)), end


def _begin(network: NetworkValue, port: Port, boxes: dict[str, Box], arcs: list[Arc]) -> Port:
    """A source in the place of a box that keeps tuples, with the groups that its stream has."""
    stream = network.streams[port]
    boxes[port.box] = Source(port.box, stream.schema, stream.time, 0, stream.signed)
    begin = Port(port.box, boxes[port.box].outputs[0])
    if not stream.keyed_by:
        return begin
    group = f"{port.box}_grouped"
    boxes[group] = GroupBy(group, stream.keyed_by)
    arcs.append(Arc(begin, Port(group, IN)))
    return Port(group, OUT)
