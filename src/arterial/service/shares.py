"""Shares: how much of each stream is left, where some of it is left out on arcs upstream.

A box that takes each tuple of several inputs by itself (a union) gives the mean of their shares, by their rates. Any
other box gives the product: a pair needs both its tuples. Where whole groups are left out, the inputs of a box miss the
same groups, so an arc that lies before several of them counts once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from math import prod

import numpy as np

from arterial.figures.steering import Drop
from arterial.figures.window import Window
from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.thinned import groups_to_leave_out, why_not_thinned


def kept_of(window: Window, network: NetworkValue) -> dict[str, float]:
    """The share of each arc's tuples that was not left out in the window; arcs that kept all are missing."""
    shed: dict[str, int] = {}
    for step in window.steps:
        for name, number in step.shed.items():
            shed[name] = shed.get(name, 0) + number
    held = {arc for step in window.steps for arc in step.held}
    kept = {}
    for arc in network.arcs:
        if left_out := shed.get(str(arc), 0):
            passed = window.box(arc.end.box).tuples_in.get(arc.end.port, 0)
            if str(arc) in held:  # what was not left out went into the queue first
                passed = max(0, window.box(arc.begin.box).tuples_out.get(arc.begin.port, 0) - left_out)
            kept[str(arc)] = passed / (passed + left_out)
    return kept


def in_force(
    window: Window,
    network: NetworkValue,
    shed: Mapping[str, Drop],
    before: Mapping[str, Drop] | None = None,
    held: Collection[str] = (),
) -> dict[str, float]:
    """The share that each arc lets through by the drops in force; by predicate and by group, as the last step counted
    it. `before` are the drops of that step, if these are new: groups then go by the share that was asked for. What is
    `held` lets nothing through that must be done now."""
    measured = kept_of(Window(math.inf, list(window.steps)[-1:]), network)
    known = shed if before is None else before
    shares = {
        arc: measured.get(arc, 1.0) if drop.keep or (drop.by and known.get(arc) == drop) else 1 - drop.share
        for arc, drop in shed.items()
    }
    return {**shares, **dict.fromkeys(held, 0.0)}


def shares_of(
    network: NetworkValue,
    kept: Mapping[str, float],
    rates: Mapping[Port, float],
    unlike: Mapping[Port, float] | None = None,
) -> dict[Port, float]:
    """The share that is left at each port: of what leaves an output port, of what enters an input port.

    `kept` is by arc, as text; `rates` are those of output ports when nothing is left out; `unlike` as of `unlike`.
    """
    shares: dict[Port, float] = {}
    again = counted_again(network) if kept else {}
    for box in network.order:
        pass_on(network, box, shares, kept, rates, again)
        for port in (Port(box.name, name) for name in box.outputs):
            if unlike and shares[port] < 1:
                shares[port] = min(1.0, shares[port] * unlike.get(port, 1.0))
    return shares


def unlike(window: Window, usual: Window, network: NetworkValue) -> dict[Port, float]:
    """How many times as many of its tuples a Filter, or another box that takes each by itself, let through as it does
    when no predicate leaves any out, as in `usual`: a predicate may leave out those that it would have stopped."""
    found = {}
    for box in network.boxes:
        if not box.stateless or len(box.inputs) != 1:
            continue
        now, then = window.box(box.name), usual.box(box.name)
        came, before = sum(now.tuples_in.values()), sum(then.tuples_in.values())
        for port in box.outputs:
            if came and (passed := then.tuples_out.get(port, 0)):
                found[Port(box.name, port)] = now.tuples_out.get(port, 0) / came * before / passed
    return found


Again = Mapping[str, tuple[str, ...]]
"""By box: the arcs that lie before several of its inputs and lose whole groups only, each once for every such input
beyond the first."""


def counted_again(network: NetworkValue) -> Again:
    """Which arcs a product of shares would count several times."""
    if not any(box.thinnable_by_group for box in network.boxes):
        return {}
    grouped = {str(arc) for arc in network.arcs if why_not_thinned(network, arc) and groups_to_leave_out(network, arc)}
    before: dict[str, frozenset[str]] = {}
    again = {}
    for box in network.order:
        inputs = []
        for port, begin in network.arrivals(box).items():
            arc = str(Arc(begin, Port(box.name, port)))
            inputs.append(before[begin.box] | ({arc} & grouped))
        if box.independent and len(inputs) > 1:
            before[box.name] = frozenset.intersection(*inputs)
            continue
        before[box.name] = frozenset[str]().union(*inputs)
        extra = tuple(arc for arc in before[box.name] for _ in range(sum(arc in one for one in inputs) - 1))
        if extra:
            again[box.name] = extra
    return again


def pass_on(
    network: NetworkValue,
    box: Box,
    shares: dict[Port, float],
    kept: Mapping[str, float],
    rates: Mapping[Port, float],
    again: Again,
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
        left = together(inputs, kept, again.get(box.name, ()))
    for port in box.outputs:
        shares[Port(box.name, port)] = left


def together(inputs: Sequence[float], kept: Mapping[str, float], again: Sequence[str]) -> float:
    """The share that leaves a box which needs all its inputs.

    >>> together([0.5, 0.5, 0.9], {"reports → roads": 0.5}, ["reports → roads"])
    0.45
    """
    left = prod(inputs)
    for arc in again:
        through = kept.get(arc, 1.0)
        left = left / through if np.all(through) else left * 0.0
    return left


def delivered(network: NetworkValue, shares: Mapping[Port, float]) -> dict[str, float]:
    """The share of each output's tuples that reaches it."""
    return {box.name: shares[Port(box.name, box.inputs[0])] for box in network.boxes if not box.outputs}
