"""Views that are not kept: what a network is without them, and what they are computed from when somebody connects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

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
        ends = {end.box for end in network.behind(box)}
        if box.inputs and box.keeping is None and ends and ends <= unseen:
            unseen.add(box.name)
    boxes = tuple(box for box in network.boxes if box.name not in unseen)
    arcs = tuple(arc for arc in network.arcs if arc.begin.box not in unseen and arc.end.box not in unseen)
    groups = {name: tuple(box for box in inside if box not in unseen) for name, inside in network.groups.items()}
    return NetworkValue(network.name, boxes, arcs, groups)


def with_views(network: NetworkValue, whole: NetworkValue, views: Collection[str]) -> NetworkValue | None:
    """The network with views again that `whole` has, computed from the connection points before them; None if they no
    longer fit. A box on the way that serves others too, and has seen other tuples than the history, is copied."""
    there = {box.name: box for box in network.boxes}
    boxes: list[Box] = []
    arcs: list[Arc] = []
    names: dict[str, str] = {}

    def take(name: str, view: str) -> str:
        if name in there and there[name].keeping is not None:
            return name
        if name not in names:
            box = whole.box(name)
            if not box.inputs:
                raise NetworkError(f"nothing is kept on the way from the source {name!r}")
            names[name] = f"{name}_for_{view}" if name in there else name
            boxes.append(replace(box, name=names[name]))
            for port, begin in whole.arrivals(box).items():
                arcs.append(Arc(Port(take(begin.box, view), begin.port), Port(names[name], port)))
        return names[name]

    try:
        for view in views:
            take(view, view)
        return NetworkValue(network.name, (*network.boxes, *boxes), (*network.arcs, *arcs), network.groups)
    except NetworkError:  # another version has other boxes or streams there
        return None


def histories(network: NetworkValue, more: NetworkValue) -> dict[str, str]:
    """The arcs from which the boxes that only `more` has get their tuples, each with the connection point or kept view
    before it, whose history they begin with."""
    there = {box.name for box in network.boxes}
    return {
        str(arc): arc.begin.box
        for arc in more.arcs
        if arc.end.box not in there and arc.begin.box in there and more.box(arc.begin.box).keeping is not None
    }


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
