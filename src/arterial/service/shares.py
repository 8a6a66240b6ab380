"""Shares: how much of each stream is left, where some of it is left out on arcs upstream.

A box that takes each tuple of several inputs by itself (a union) gives the mean of their shares, by their rates. Any
other box gives the product: a pair needs both its tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from arterial.figures.window import Window
from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue, Port


def kept_of(window: Window, network: NetworkValue) -> dict[str, float]:
    """The share of each arc's tuples that was not left out in the window; arcs that kept all are missing."""
    shed: dict[str, int] = {}
    for step in window.steps:
        for name, number in step.shed.items():
            shed[name] = shed.get(name, 0) + number
    kept = {}
    for arc in network.arcs:
        if left_out := shed.get(str(arc), 0):
            passed = window.box(arc.end.box).tuples_in.get(arc.end.port, 0)
            kept[str(arc)] = passed / (passed + left_out)
    return kept


def shares_of(network: NetworkValue, kept: Mapping[str, float], rates: Mapping[Port, float]) -> dict[Port, float]:
    """The share that is left at each port: of what leaves an output port, of what enters an input port.

    `kept` is by arc, as text; `rates` are those of output ports when nothing is left out.
    """
    shares: dict[Port, float] = {}
    for box in network.order:
        pass_on(network, box, shares, kept, rates)
    return shares


def pass_on(
    network: NetworkValue, box: Box, shares: dict[Port, float], kept: Mapping[str, float], rates: Mapping[Port, float]
) -> None:
    """Add the shares at the ports of one box to those of the boxes before it."""
    arrivals = network.arrivals(box)
    for port, begin in arrivals.items():
        end = Port(box.name, port)
        shares[end] = shares[begin] * kept.get(str(Arc(begin, end)), 1.0) if kept else shares[begin]
    inputs = [shares[Port(box.name, port)] for port in arrivals]
    if box.independent and len(inputs) > 1:
        weights = [rates.get(begin, 0.0) for begin in arrivals.values()]
        whole = sum(weights)
        left = sum(w * s for w, s in zip(weights, inputs, strict=True)) / whole if whole else min(inputs)
    else:
        left = prod(inputs)
    for port in box.outputs:
        shares[Port(box.name, port)] = left


def delivered(network: NetworkValue, shares: Mapping[Port, float]) -> dict[str, float]:
    """The share of each output's tuples that reaches it."""
    return {box.name: shares[Port(box.name, box.inputs[0])] for box in network.boxes if not box.outputs}
