"""A small network, its tuples, and figures of steps, for the tests of watchers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from arterial import Network
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.plan import Plan
from arterial.engine.run.figures.status import StatusFile
from arterial.engine.run.watch.watchers import Watcher
from arterial.figures.steering import Steering
from arterial.figures.step import BoxFigures, OutputFigures, SlotFigures, SourceFigures, StepFigures

SCHEMA = {"time": "int64", "vehicle": "int32", "speed": "int32"}


def speeding() -> Network:
    net = Network("speeding")
    reports = net.source("reports", SCHEMA)
    reports.filter("fast", "speed > 30").output("alerts")
    return net


def tuples(number: int) -> list[dict[str, Any]]:
    return [{"time": at, "vehicle": at % 7, "speed": at % 50} for at in range(number)]


def in_file(folder: Path, number: int) -> Path:
    """The tuples in a file, which is read in trains of the size that a run asks for."""
    path = folder / "reports.csv"
    pl.DataFrame(tuples(number)).write_csv(path)
    return path


def plan_of(net: Network) -> Plan:
    return compile_network(net.value, 1)


def step(number: int, delay: float = 0.2, tuples_out: int = 4, **more: Any) -> StepFigures:
    return StepFigures(
        number,
        1,
        1000.0 + number,
        0.5,
        {"fast": BoxFigures({"in": 10}, {"out": tuples_out}, 0.02)},
        (SlotFigures(0, 0, 0.3, {"fast": 0.02}, 5, 7, 100),),
        {"reports": SourceFigures(10, 3, 0.1, number, None)},
        {"alerts": OutputFigures(tuples_out, delay)},
        **more,
    )


def feed(watcher: Watcher, plan: Plan, *steps: StepFigures, window: dict[str, Any] | None = None) -> StatusFile:
    """Let a watcher see steps as a run would."""
    kept = StatusFile(plan, None)
    watcher.begin(kept.status)
    for figures in steps:
        kept.add_step(figures, {}, window or {})
        watcher.step(figures, kept.status, Steering())
    return kept
