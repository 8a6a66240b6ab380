"""Networks before and after a tactic, as its test module offers them in `PAIRS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from arterial.drawing import Network, StreamHandle
from arterial.network.network import NetworkValue
from arterial.optimize import Figures

COLUMNS = {"time": int, "object": int, "x": float, "y": float, "type": str, "speed": int}

Draw = Callable[[StreamHandle], object]


@dataclass(frozen=True)
class Pair:
    """What is drawn on a stream of reports before and after; equal if the tactic must leave it."""

    name: str
    before: Draw
    after: Draw
    figures: Figures = field(default_factory=dict)


def drawn(draw: Draw) -> NetworkValue:
    """The network of one half of a pair."""
    net = Network("pair")
    draw(net.source("reports", COLUMNS))
    return net.value


def parts(network: NetworkValue) -> tuple[object, ...]:
    """What makes a network, whatever the order in which it was drawn."""
    return set(network.boxes), set(network.arcs), dict(network.groups)
