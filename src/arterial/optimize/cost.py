"""What a network is expected to cost, from what was measured of its boxes: seconds of a core in a window.

The tuples that each source gave flow through the network, thinned by the share that was measured for every port; each
box costs its tuples times what one costs there. A box that a tactic made is priced by those whose work it does, and one
that copies whole tuples by how many columns they have now.
"""

from __future__ import annotations

from arterial.network.box import IN, Box
from arterial.network.network import NetworkValue, Port
from arterial.optimize.names import parts_of
from arterial.optimize.tactic import Figures

_BY_COLUMN = 0.5
"""The part of the cost of a box that copies tuples which grows with their columns."""


def expected(network: NetworkValue, figures: Figures, running: NetworkValue) -> float:
    """The seconds that a network would have cost in a window in which `running` was measured.

    >>> from arterial import Network
    >>> from arterial.optimize import measured
    >>> net = Network("n")
    >>> few = net.source("s", {"time": int, "x": int}).filter("few", "x > 9").map("m", y="x + 1").output("o")
    >>> figures = {"s": measured(1.0), "few": measured(0.1, 1e-6), "m": measured(1.0, 5e-6)}
    >>> round(expected(net.value, figures, net.value), 3)
    1.5
    """
    flow: dict[Port, float] = {}
    seconds = 0.0
    for box in network.order:
        if not box.inputs:
            for port in box.outputs:
                flow[Port(box.name, port)] = figures[box.name].tuples_out.get(port, 0) if box.name in figures else 0.0
            continue
        came = sum(flow[begin] for begin in network.arrivals(box).values())
        seconds += came * _cost(box, figures, running)
        for port in box.outputs:
            flow[Port(box.name, port)] = came * _share(box.name, port, figures)
    return seconds


def _cost(box: Box, figures: Figures, running: NetworkValue) -> float:
    if box.name in figures:
        return (figures[box.name].cost or 0.0) * _width(box, running)
    parts = [figures[name].cost or 0.0 for name in parts_of(box.name) if name in figures]
    if not parts:
        return 0.0  # a projection: columns are left out, and nothing is copied
    # Filters that were merged copy once; Maps still compute everything.
    return max(parts) if box.passes else sum(parts)


def _width(box: Box, running: NetworkValue) -> float:
    """How much of its cost is left with the columns that its tuples have now."""
    if not (box.passes and box.outputs and IN in box.fed_by) or not any(one.name == box.name for one in running.boxes):
        return 1.0
    before, now = (len(one.fed_by[IN].schema.names) for one in (running.box(box.name), box))
    return 1 - _BY_COLUMN + _BY_COLUMN * now / before


def _share(name: str, port: str, figures: Figures) -> float:
    if name in figures:
        share = figures[name].share(port)
        return 1.0 if share is None else share
    shares = [figures[part].share(port) for part in parts_of(name) if part in figures]
    product = 1.0
    for share in shares:
        product *= 1.0 if share is None else share
    return product
