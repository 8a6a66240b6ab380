"""Boxes that do the same with the same stream become one, from the sources on (Aurora §3)."""

from __future__ import annotations

from dataclasses import replace

from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue, Port
from arterial.optimize.tactic import Figures


def share_prefixes(network: NetworkValue, figures: Figures | None = None) -> NetworkValue:
    """The network in which equal boxes on equal streams are one; the first of them stays.

    Only of boxes without state: two that keep the same may have begun at different times.

    >>> from arterial import Network
    >>> net = Network("n")
    >>> s = net.source("s", {"time": int, "x": int})
    >>> a, b = s.filter("a", "x > 1").output("one"), s.filter("b", "x > 1").map("m", keep=["time"]).output("two")
    >>> [box.name for box in share_prefixes(net.value).boxes]
    ['s', 'a', 'one', 'm', 'two']
    """
    while (twins := _twins(network)) is not None:
        network = _as_one(network, *twins)
    return network


def _twins(network: NetworkValue) -> tuple[Box, Box] | None:
    found: dict[tuple[object, ...], Box] = {}
    for box in network.order:
        if not (box.stateless and box.inputs and box.outputs) or box.connectable:
            continue
        around = {arc for arc in network.arcs if box.name in (arc.begin.box, arc.end.box)}
        if network.inseparable & around:
            continue
        what = (replace(box, name=""), tuple(sorted(network.arrivals(box).items())))
        if (first := found.setdefault(what, box)) is not box:
            return first, box
    return None


def _as_one(network: NetworkValue, first: Box, twin: Box) -> NetworkValue:
    arcs = (arc for arc in network.arcs if arc.end.box != twin.name)
    moved = (Arc(Port(first.name, arc.begin.port), arc.end) if arc.begin.box == twin.name else arc for arc in arcs)
    boxes = tuple(box for box in network.boxes if box.name != twin.name)
    groups = {name: tuple(one for one in inside if one != twin.name) for name, inside in network.groups.items()}
    return NetworkValue(network.name, boxes, tuple(moved), {name: inside for name, inside in groups.items() if inside})
