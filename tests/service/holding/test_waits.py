"""What is held is due once it has waited beyond the good zone of its output, and not delivered."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from arterial import Delay, Network, NetworkValue, Settings
from arterial.engine.run.local import run_locally
from arterial.figures.step import BoxFigures, StepFigures
from arterial.figures.steps_file import read_steps
from arterial.network.network import Port
from arterial.network.train import Train
from arterial.service.holding.waits import Waits
from tests.engine.attach.asked import Gated


def network(good: float = 2.0) -> NetworkValue:
    """A branch that can be held, to an output that is soon late, and to one that never is."""
    net = Network("n")
    stream = net.source("s", {"time": int, "k": int})
    branch = stream.group_by("k").tumble("t", every=1, n="count(*)")
    branch.output("soon", qos=Delay(good, 10 * good))
    branch.output("patient")
    stream.output("other", qos=Delay(good, 10 * good))
    return net.value


def step(second: int, held: int, went: int) -> StepFigures:
    boxes = {"t": BoxFigures({"in": went}, {"out": went})}
    return StepFigures(second, 1, float(second), 0.0, boxes, held={ARC: held} if held else {})


ARC = next(str(arc) for arc in network().arcs if arc.end.box == "t")


def test_the_oldest_go_on_first() -> None:
    waits, net, passes = Waits(), network(), {Port("t", "out"): 0.25}
    for second in range(6):  # a hundred come in each second
        waits.add(step(second, 100 * (second + 1), 0), net)
    assert waits.overdue(net, passes) == {"soon": pytest.approx(0.25 * 300)}, "those of the first three seconds"
    waits.add(step(6, 450, 250), net)
    assert waits.overdue(net, passes) == {"soon": pytest.approx(0.25 * 150)}
    waits.add(step(7, 200, 350), net)
    assert waits.overdue(net, passes) == {}, "what is left came within two seconds"
    waits.add(step(8, 0, 200), net)
    waits.add(step(20, 50, 0), net)
    assert waits.overdue(net, passes) == {}, "another queue, which began now"


@pytest.mark.thorough
def test_an_output_that_is_held_is_worth_nothing_when_it_is_late(tmp_path: Path) -> None:
    frame = pl.DataFrame({"k": range(50)})
    steps = [Train(frame.select(pl.lit(second, pl.Int64).alias("time"), "k"), second) for second in range(5000)]
    source = Gated(steps, first=5)
    run = run_locally(network(good=1.0), {"s": source}, {}, tmp_path, Settings(shards=1))

    def worth(step: int) -> dict[str, float]:
        source.may = step
        while run.status.step < step:
            time.sleep(0.01)
        return {name: one["utility"] for name, one in run.status.window["outputs"].items()}

    assert worth(5)["soon"] > 0.5
    run.hold("t")
    at, until = 10, time.monotonic() + 60
    while worth(at)["soon"] > 0.5:
        assert time.monotonic() < until
        at += 1
        time.sleep(0.05)
    assert worth(at)["patient"] == 1
    slots = [slot for step in read_steps(run.checkpoint) for slot in step.slots]
    assert any(slot.state_bytes > sum(slot.state.values()) for slot in slots), "what waits is state too"
    run.stop()
