"""Draws the pictures of docs/runtime/ from simulated runs: `python -m tools.runtime_pictures` writes docs/images/."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join, load_of

from arterial import Delay, Network, NetworkValue
from arterial.figures.window import Window
from arterial.network.qos import Graph, utility_at
from arterial.report.plots import HALF, WIDE, bars, lines, new_figure, svg_of
from arterial.service.holding.holder import Holder, Policy
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.greedy import Choices, Plan, choose
from arterial.service.shedding.optimum import optimum, uniform
from arterial.service.shedding.shedder import Shedder
from arterial.service.simulation import SimulatedRun
from arterial.service.utility import total, utilities
from arterial.service.values import intervals

FOLDER = Path(__file__).parents[1] / "docs" / "images"

COLOURS = {
    "--ink": "#17202e", "--muted": "#5b6878", "--line": "#c3ccd7", "--grid": "#e9edf2", "--card": "#ffffff",
    "--s1": "#2563c9", "--s2": "#d9730d", "--s3": "#0f8a7e", "--s4": "#8250df", "--s5": "#c4314b", "--s6": "#7a8797",
    "--good": "#14804a", "--bad": "#bf2a45",
}  # fmt: skip
"""Those of a light page: a picture in the documents stands by itself."""

VALUE: Graph = ((0.0, 0.0), (80.0, 0.2), (160.0, 1.0))


def main() -> None:
    """Draw all, or those that are named."""
    pictures = {"qos": qos, "shedding": shedding, "optimum": plans, "trains": trains, "holding": holding}
    for name in sys.argv[1:] or pictures:
        path = FOLDER / f"{name}.svg"
        path.write_text(pictures[name]())
        sys.stdout.write(f"{path}\n")


def qos() -> str:
    """The three kinds of graph."""
    with new_figure(WIDE) as (figure, first):
        first.remove()
        panels = figure.subplots(1, 3)
        graphs: list[tuple[Graph, float, str]] = [
            (((2.0, 1.0), (10.0, 0.0)), 14, "delay, s"),
            (((0.0, 0.0), (0.8, 1.0), (1.0, 1.0)), 1, "share delivered"),
            (VALUE, 200, "value"),
        ]
        for axes, (graph, most, label) in zip(panels, graphs, strict=True):
            xs = np.linspace(0, most, 201)
            axes.plot(xs, [utility_at(graph, float(x)) for x in xs])
            axes.set_xlabel(label)
            axes.set_ylim(0, 1.08)
        panels[0].set_ylabel("utility")
    return _svg(figure)


def shedding() -> str:
    """A burst of twice what can be borne: delays and utility, with and without the shedder."""
    saturation = 2 / load_of(fan_out(), FAN_OUT_COST, 1.0, {"d": 0.2}).work()

    def run(shed: bool) -> SimulatedRun:
        return SimulatedRun(
            fan_out(),
            FAN_OUT_COST,
            {"reports": lambda t: saturation * (2 if 10 <= t < 40 else 0.4)},
            {"d.out": 0.2, "d.otherwise": 0.8},
            controllers=[Shedder(2, 0.9)] if shed else [],
        ).run(60)

    with new_figure((10.0, 5.2)) as (figure, first):
        first.remove()
        upper, lower = figure.subplots(2, 1, sharex=True)
        for name, simulated in {"nothing is done": run(False), "with shedding": run(True)}.items():
            ends = [step.born + step.seconds for step in simulated.steps]
            upper.plot(ends, [step.outputs["strict"].delay for step in simulated.steps], label=name)
            lower.plot(ends, _utility(simulated), label=name)
        upper.axhline(2, linestyle=(0, (5, 3)), linewidth=1.2, color="#7a8797")
        upper.set_yscale("log")
        upper.set_ylabel("delay of one output, s")
        upper.legend(loc="upper left")
        lower.set_ylabel("total utility")
        lower.set_ylim(0, 1.05)
        lower.set_xlabel("time, s: from 10 to 40 twice the rate that can be borne")
    return _svg(figure)


def plans() -> str:
    """The greedy plan beside the best of all and beside dropping alike everywhere."""
    values = {one.name: 10 for one in intervals(VALUE)[1:]}
    networks = {
        "fan-out": Choices.of(load_of(fan_out(), FAN_OUT_COST, 10_000, {"d": 0.2}), {"valued": values}),
        "join": Choices.of(load_of(join(), JOIN_COST, 10_000, {"some": 0.5, "pairs": 0.5, "rare": 0.1})),
    }
    names, heights = [], {"best of all": [], "greedy": [], "alike everywhere": []}  # type: ignore[var-annotated]
    deciders: dict[str, Callable[[Choices, float], Plan]] = {
        "best of all": optimum, "greedy": choose, "alike everywhere": uniform,
    }  # fmt: skip
    for name, choices in networks.items():
        for load in (1.5, 2, 4):
            names.append(f"{name}\n{load:g} ×")
            for label, decide in deciders.items():
                heights[label].append(choices.utility(decide(choices, choices.work(Plan()) / load)))
    return _svg(bars(names, heights, y="total utility", size=WIDE))


def trains() -> str:
    """The delay at low load and the throughput at high load, by the length of a train."""
    net = Network("n")
    net.source("s", {"time": "int64"}).map("m", x="1").output("o", qos=Delay(4, 10))
    cost = {"s": 1e-6, "m": 19e-6}
    sizes = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000]

    def run(load: float, size: int | None) -> SimulatedRun:
        rate = {"s": lambda t: load * 100_000}
        controllers = [Scheduler(2)] if size is None else []
        return SimulatedRun(net.value, cost, rate, fixed=0.3, train_size=size or 500_000, controllers=controllers).run(
            60
        )

    def reached(simulated: SimulatedRun) -> float:
        steps = [step for step in simulated.steps if step.born > 10]
        return sum(step.outputs["o"].tuples for step in steps) / (simulated.now - steps[0].born)

    fixed = [reached(run(2.0, size)) for size in sizes]
    chosen = reached(run(2.0, None))
    curves = {"fixed length": (sizes, fixed), "chosen by the scheduler": (sizes, [chosen] * len(sizes))}
    figure = lines(curves, x="tuples of a train", y="tuples a second at twice the load", size=HALF)
    figure.axes[0].set_xscale("log")
    return _svg(figure)


def holding() -> str:
    """An urgent output and a patient one under a burst, with and without priorities."""
    net = Network("urgent and patient")
    s = net.source("s", {"time": "int64"})
    s.map("quick", x="1").output("urgent", qos=Delay(1, 4))
    s.map("slow", x="1").output("patient", qos=Delay(40, 120))
    cost = {"s": 1e-6, "quick": 10e-6, "slow": 90e-6}
    policies: dict[str, Policy | None] = {"nobody waits": None, "by state": "state"}
    series = {}
    for name, policy in policies.items():
        simulated = _burst(net.value, cost, policy)
        for output in ("urgent", "patient"):
            found = [(step.born + step.seconds, step.outputs[output]) for step in simulated.steps]
            shown = [(end, one.delay) for end, one in found if one.tuples]
            series[f"{output}, {name}"] = ([end for end, _ in shown], [delay for _, delay in shown])
    return _svg(lines(series, x="time, s: a burst of 2.5 × from 5 to 13", y="delay, s"))


def _burst(network: NetworkValue, cost: dict[str, float], policy: Policy | None) -> SimulatedRun:
    rate = {"s": lambda t: 2 / sum(cost.values()) * (2.5 if 5 <= t < 13 else 0.3)}
    return SimulatedRun(network, cost, rate, controllers=[] if policy is None else [Holder(2, policy)]).run(60)


def _utility(simulated: SimulatedRun) -> list[float]:
    return [
        total(simulated.network, utilities(Window(math.inf, [step]), simulated.network)) for step in simulated.steps
    ]


def _svg(figure: object) -> str:
    return svg_of(figure, colours=COLOURS) + "\n"  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
