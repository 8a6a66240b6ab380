"""Drops the boxes from which no way leads to an output or to a box that keeps tuples (Aurora §3)."""

from __future__ import annotations

from arterial.network.network import NetworkValue
from arterial.optimize.tactic import Figures


def drop_dead_paths(network: NetworkValue, figures: Figures | None = None) -> NetworkValue:
    """The network without boxes whose work nobody sees. Sources stay: a run has something behind each of them.

    >>> from arterial import Network
    >>> net = Network("speeding")
    >>> fast = net.source("reports", {"time": int, "speed": int}).filter("fast", "speed > 100")
    >>> slow, alerts = fast.otherwise.map("slow", keep=["time"]), fast.output("alerts")
    >>> [box.name for box in drop_dead_paths(net.value).boxes]
    ['reports', 'fast', 'alerts']
    """
    live: set[str] = set()
    for box in reversed(network.order):
        ends = [end.box for end in network.behind(box)]
        if not (box.inputs and box.outputs) or box.keeping is not None or not live.isdisjoint(ends):
            live.add(box.name)
    if len(live) == len(network.boxes):
        return network
    groups = {name: tuple(box for box in boxes if box in live) for name, boxes in network.groups.items()}
    return NetworkValue(
        network.name,
        tuple(box for box in network.boxes if box.name in live),
        tuple(arc for arc in network.arcs if arc.end.box in live),
        {name: boxes for name, boxes in groups.items() if boxes},
    )
