"""Utility: how good the outputs of a run are, as one number from 0 to 1. Defined here, once (decision 30).

For an output and a window of steps

    U = S( Σ over delivered tuples of V(value)·D(delay) / Σ over due tuples of V(value) )

with its graphs of delay D, delivered share S and value V; without a graph D = 1, S(x) = x, V = 1. Due is what was
delivered and what was shed upstream, scaled by the measured selectivities (of boxes behind a predicate, by those of
before: it may leave out what they would have stopped). What is held is due
once it has waited longer than the good zone. A step's tuples count with the step's worst
delay. The total is the mean over outputs, by their weight.
"""

from __future__ import annotations

from collections.abc import Mapping

from arterial.boxes.ends.output import Output
from arterial.figures.step import OutputFigures
from arterial.figures.window import Window
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.qos import Graph, utility_at
from arterial.service.shares import delivered, kept_of, shares_of, unlike
from arterial.service.values import Histogram, worth_of


def outputs_of(network: NetworkValue) -> tuple[Output, ...]:
    """The outputs of a network."""
    return tuple(box for box in network.boxes if isinstance(box, Output))


def reached_from(network: NetworkValue) -> dict[Arc, frozenset[str]]:
    """The outputs that each arc leads to."""
    behind: dict[str, frozenset[str]] = {}
    for box in reversed(network.order):
        ends = network.behind(box)
        reached = frozenset().union(*(behind[end.box] for end in ends))
        behind[box.name] = reached | ({box.name} if isinstance(box, Output) else frozenset())
    return {arc: behind[arc.end.box] for arc in network.arcs}


def utilities(
    window: Window,
    network: NetworkValue,
    histograms: Mapping[str, Histogram] | None = None,
    usual: Window | None = None,
    overdue: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The utility of each output in a window.

    `overdue` tuples of an output wait in a queue for longer than its good zone.

    `histograms` say how values are distributed when no predicate leaves any out; without one, as in the window. `usual`
    are steps in which none did; without them, boxes let through as much as in the window.
    """
    kept = kept_of(window, network)
    counted = {Port(b.name, p): float(n) for b in network.boxes for p, n in window.box(b.name).tuples_out.items()}
    other = unlike(window, usual, network) if kept and usual else None
    shares = delivered(network, shares_of(network, kept, counted, other))
    return {
        output.name: utility_of(
            output,
            [step.outputs[output.name] for step in window.steps if output.name in step.outputs],
            shares[output.name],
            (histograms or {}).get(output.name),
            (overdue or {}).get(output.name, 0.0),
        )
        for output in outputs_of(network)
    }


def utility_of(
    output: Output, steps: list[OutputFigures], share: float, values: Histogram | None = None, overdue: float = 0.0
) -> float:
    """The utility of an output from what each step delivered, the share of its tuples that was not shed, and how many
    are overdue.

    >>> six, two = OutputFigures(6, 1.0), OutputFigures(2, 6.0)
    >>> output = Output("o", ((2, 1), (10, 0)), ((0, 0), (0.8, 1), (1, 1)))
    >>> round(utility_of(output, [six, two], share=0.8), 3)
    0.875
    """
    tuples = sum(step.tuples for step in steps)
    if not tuples:
        return passed_through(output.share, 0.0 if overdue else share)
    valued = bool(output.value) and any(step.values for step in steps)
    good = met = 0.0
    for step in steps:
        worth = worth_of(step.values, output.value) if valued else float(step.tuples)
        met += worth
        good += worth * worth_of_delay(output.delay, step.delay)
    mean = met / tuples
    if valued and values and (count := sum(values.values())):
        mean = worth_of(values, output.value) / count
    due = (tuples / share + overdue) * mean if share else 0.0
    return passed_through(output.share, min(1.0, good / due)) if due else passed_through(output.share, 0.0)


def total(network: NetworkValue, utilities: Mapping[str, float]) -> float:
    """The mean over outputs, by weight; 1 for a network without outputs.

    >>> from arterial import Network, QoS
    >>> net = Network("n")
    >>> _ = net.source("s", {"time": "int64"}).output("a").output("b", qos=QoS(weight=3))
    >>> total(net.value, {"a": 0.875, "b": 1.0})
    0.96875
    """
    outputs = outputs_of(network)
    weights = sum(output.weight for output in outputs)
    return sum(output.weight * utilities[output.name] for output in outputs) / weights if weights else 1.0


def worth_of_delay(delay: Graph, seconds: float) -> float:
    """D: 1 without a graph."""
    return utility_at(delay, seconds) if delay else 1.0


def passed_through(share: Graph, quotient: float) -> float:
    """S: the quotient itself without a graph."""
    return utility_at(share, quotient) if share else quotient
