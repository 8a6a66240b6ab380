"""The networks that shedding and scheduling are tested on, with what their boxes cost."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial import Box, Delay, Network, NetworkValue, QoS, State, Stream, Train
from arterial.network.box import ALL_PORTS, IN, OUT
from arterial.network.network import Arc, Port
from arterial.service.load import Load

FLAT = ((0, 0), (0.5, 1), (1, 1))
"""Half of the tuples will do."""


@dataclass(frozen=True)
class Slow(Box):
    """Passes every tuple on, and takes its time."""

    seconds: float = 1e-3
    kind: ClassVar[str] = "test.slow"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        clock.sleep(self.seconds * len(trains[IN]))
        return {OUT: trains[IN]}


def slowed(network: NetworkValue, cost: Mapping[str, float]) -> tuple[NetworkValue, dict[str, float]]:
    """A network whose boxes really take so long for each tuple, by a Slow box before each; and what those cost."""
    boxes, arcs, price = list(network.boxes), list[Arc](), dict[str, float]()
    for arc in network.arcs:
        if arc.end.box not in cost:
            arcs.append(arc)
            continue
        slow = Slow(f"price_of_{arc.end.box}_{arc.end.port}", cost[arc.end.box])
        boxes.append(slow)
        price[slow.name] = slow.seconds
        arcs += [Arc(arc.begin, Port(slow.name, IN)), Arc(Port(slow.name, OUT), arc.end)]
    return NetworkValue(network.name, tuple(boxes), tuple(arcs)), price


def fan_out(time: str = "int64") -> NetworkValue:
    """Four outputs behind one Map: strict, tolerant, valued, and one that is cheap to compute and weighs much."""
    net = Network("fan-out")
    reports = net.source("reports", {"time": time, "vehicle": "int32", "speed": "float64"})
    shared = reports.map("metric", kmh="speed * 1.6")
    shared.map("a", x="kmh + 1").output("strict", qos=QoS(Delay(2, 10)))
    shared.map("b", x="kmh + 2").output("tolerant", qos=QoS(Delay(5, 20), FLAT))
    valued = QoS(Delay(5, 20), value=("v", [(0, 0), (80, 0.2), (160, 1)]))
    shared.map("c", v="kmh", keep=["time"]).filter("moves", "v >= 0").output("valued", qos=valued)
    shared.filter("d", "kmh > 100").output("heavy", qos=QoS(Delay(2, 10), weight=3))
    return net.value


FAN_OUT_COST = {"reports": 2e-6, "metric": 4e-6, "a": 20e-6, "b": 30e-6, "c": 10e-6, "moves": 10e-6, "d": 5e-6}


def join(time: str = "int64") -> NetworkValue:
    """Two streams, each with an output of its own, and their pairs."""
    net = Network("join")
    left = net.source("left", {"time": time, "k": "int32", "x": "float64"})
    right = net.source("right", {"time": time, "k": "int32", "y": "float64"})
    a, b = left.map("l", x="x * 2"), right.map("r", y="y * 2")
    a.output("all_left", qos=QoS(Delay(2, 10), FLAT))
    a.filter("some", "x > 1").group_by("k").join(
        "pairs", b.group_by("k"), within=5 if time == "int64" else "5 seconds"
    ).output("joined", qos=Delay(3, 12))
    b.filter("rare", "y > 1").output("few_right", qos=QoS(Delay(3, 12), weight=2))
    return net.value


JOIN_COST = {"left": 2e-6, "right": 2e-6, "l": 5e-6, "r": 5e-6, "some": 5e-6, "pairs": 40e-6, "rare": 5e-6}


def load_of(
    network: NetworkValue, cost: dict[str, float], rate: float, selectivity: dict[str, float] | None = None
) -> Load:
    """The load of a network at a rate of each of its sources; a box gives one tuple for each, unless said."""
    rates: dict[Port, float] = {}
    for box in network.order:
        comes = sum(rates[begin] for begin in network.arrivals(box).values()) if box.inputs else rate
        for place, port in enumerate(box.outputs):
            share = (selectivity or {}).get(box.name, 1.0)
            rates[Port(box.name, port)] = comes * share if place == 0 else 0.0
    return Load(network, cost, rates, 0.05, 0.5)
