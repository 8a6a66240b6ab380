"""The figures of a step say how much state each box keeps, in each slot."""

from __future__ import annotations

import json
import time
from pathlib import Path

import polars as pl

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.figures.step_figures import Delays, figures_of
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.figures.step import SlotFigures, StepFigures, as_json, from_json
from arterial.figures.steps_file import read_steps
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train


def _network() -> NetworkValue:
    net = Network("state")
    reports = net.source("reports", {"time": int, "vehicle": int})
    fast = reports.filter("some", "vehicle > 0").group_by("vehicle", name="by_vehicle")
    fast.tumble("counted", every="1 hour", n="count(*)").output("counts")
    return net.value


def test_a_local_run_says_what_its_boxes_have_in_memory(tmp_path: Path) -> None:
    tuples = pl.DataFrame({"time": [1] * 1000, "vehicle": list(range(1, 1001))})
    trains = [Train(tuples, 1), Train(tuples.with_columns(pl.lit(2).alias("time")), END)]
    sources, sinks = {"reports": MemorySource(trains)}, {"counts": MemorySink()}
    run_locally(_network(), sources, sinks, tmp_path, Settings(shards=2)).wait()
    first = next(iter(read_steps(tmp_path)))
    held = [slot.state for slot in first.slots if slot.level == 0]
    assert len(held) == 2
    for one in held:
        assert one.keys() == {"counted"}
        assert 1000 < one["counted"] < 100_000  # some 500 groups
    assert sum(slot.state_bytes for slot in first.slots) == sum(one["counted"] for one in held)


class SlowSink(MemorySink):
    """Takes longer than the boxes."""

    def write(self, delivery: Delivery) -> None:
        time.sleep(0.1)
        super().write(delivery)


def test_a_local_slot_takes_as_long_as_its_boxes_and_what_they_deliver(tmp_path: Path) -> None:
    sources = {"reports": MemorySource([Train(pl.DataFrame({"time": [1], "vehicle": [1]}), END)])}
    run_locally(_network(), sources, {"counts": SlowSink()}, tmp_path, Settings(shards=2)).wait()
    (step,) = read_steps(tmp_path)
    assert sum(slot.boxes["counts"] for slot in step.slots if slot.level == 0) >= 0.2
    for slot in step.slots:
        assert sum(slot.boxes.values()) <= slot.seconds
    assert sum(slot.seconds for slot in step.slots) <= step.seconds


def test_state_is_named_by_its_box_whatever_version_the_box_came_in() -> None:
    plan = compile_network(_network(), 1)
    report = {
        "step": 1, "version": 2, "born": 0.0, "level": 0, "slot": 0, "seconds": 0.1, "at": 0.1, "boxes": {},
        "rejects": 0, "state_bytes": 90, "state": {"counted/2": 70, "queue some.out → by_vehicle.in": 20},
    }  # fmt: skip
    (slot,) = figures_of(plan, Delays(plan.network), [report], 0.1).slots
    assert slot.state == {"counted": 70}
    assert slot.state_bytes == 90


def test_a_line_of_the_file_brings_it_back() -> None:
    slots = (SlotFigures(0, 0, 0.1, {}, 1, 2, 90, {"counted": 70}), SlotFigures(0, 1, 0.1, {}, 1, 2, 3))
    step = StepFigures(1, 1, 0.0, 0.1, slots=slots)
    assert from_json(json.loads(json.dumps(as_json(step)))) == step
