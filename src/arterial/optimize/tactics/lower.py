"""Moves a movable box below filters while the network runs, as its selectivity says (GPAC §6.1).

It is `push_down` for a box that has state already: downwards only, and only where the box says that its state stays
right (`Box.lowers`), because what the filter left out so far is left out behind it as well.
"""

from __future__ import annotations

from arterial.network.box import IN
from arterial.network.network import NetworkValue
from arterial.optimize.moves import is_filter
from arterial.optimize.tactic import Figures
from arterial.optimize.tactics.push_down import PAYS_BELOW, moved_down


def lower(network: NetworkValue, figures: Figures) -> NetworkValue:
    """The network with movable boxes as low as their selectivities and their state want them.

    >>> from arterial import Network
    >>> from arterial.moving import gpac_in
    >>> from arterial.optimize import measured
    >>> net = Network("trucks")
    >>> some = net.source("s", {"time": int, "object": int, "x": int, "y": int}).filter("some", "object > 9")
    >>> near = gpac_in(some, "near", region=(0, 0, 5, 5)).output("o")
    >>> [box.name for box in lower(net.value, {"near": measured(0.1)}).order]
    ['s', 'near', 'some', 'o']
    """
    for box in network.order:
        share = figures[box.name].selectivity if box.name in figures else None
        while box.movable and share is not None and share < PAYS_BELOW:
            below = network.box(network.arrivals(box)[IN].box)
            if not is_filter(below) or not box.lowers(below.fed_by[IN]):
                break
            if (moved := moved_down(network, box)) is None:
                break
            network, box = moved, moved.box(box.name)
    return network
