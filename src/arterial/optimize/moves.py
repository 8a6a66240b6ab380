"""What tactics that move boxes share: which box can be moved past which, and the network after it."""

from __future__ import annotations

from arterial.network.box import IN, OUT, Box
from arterial.network.network import Arc, NetworkValue, Port


def is_filter(box: Box) -> bool:
    """Whether a box takes each tuple by itself and lets it through or not, and nothing else."""
    return box.stateless and box.passes and not box.connectable and box.inputs == (IN,) and box.outputs[:1] == (OUT,)


def is_between(network: NetworkValue, below: Box, name: str) -> bool:
    """Whether all that leaves a box goes from its first output to one other."""
    if not below.outputs:
        return False
    ends = [end.box for end in network.behind(below)]
    return ends == [name] and network.departures(Port(below.name, below.outputs[0])) != ()


def swapped(network: NetworkValue, lower: Box, upper: Box, port: str) -> NetworkValue | None:
    """The network in which `lower`, which `upper` feeds, comes first and feeds `upper` by `port`.

    None if an arc between or beside them must stay as it is.
    """
    origin = network.arrivals(upper)[port]
    first, then = Port(lower.name, OUT), Port(upper.name, OUT)
    changed = {
        Arc(origin, Port(upper.name, port)): Arc(first, Port(upper.name, port)),
        Arc(then, Port(lower.name, IN)): Arc(origin, Port(lower.name, IN)),
        **{arc: Arc(then, arc.end) for arc in network.arcs if arc.begin == first},
    }
    if network.inseparable & changed.keys():
        return None
    arcs = tuple(changed.get(arc, arc) for arc in network.arcs)
    return NetworkValue(network.name, network.boxes, arcs, network.groups)


def joined(network: NetworkValue, below: Box, above: Box, both: Box) -> NetworkValue | None:
    """The network in which one box does the work of two, of which the first feeds the second and nothing else.

    None if an arc of theirs must stay as it is.
    """
    touched = {arc for arc in network.arcs if {arc.begin.box, arc.end.box} & {below.name, above.name}}
    if network.inseparable & touched:
        return None
    arcs = []
    for arc in network.arcs:
        if arc.end.box == below.name:
            arcs.append(Arc(arc.begin, Port(both.name, IN)))
        elif arc.begin.box == above.name:
            arcs.append(Arc(Port(both.name, arc.begin.port), arc.end))
        elif arc.begin.box != below.name:
            arcs.append(arc)
    boxes = tuple(both if box.name == below.name else box for box in network.boxes if box.name != above.name)
    groups = {}
    for name, inside in network.groups.items():
        members = tuple(both.name if box == below.name else box for box in inside if box != above.name)
        if (below.name in inside) != (above.name in inside):
            return None  # a composed box would lose a part of its own, or get one of others
        groups[name] = members
    return NetworkValue(network.name, boxes, tuple(arcs), groups)
