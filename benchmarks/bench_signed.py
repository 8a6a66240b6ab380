"""Signed streams: GPAC boxes in plans over 100,000 objects, CPU per second of data, and what pushing down saves.

Objects walk at random over a square and all report every second; one in twenty changes its speed. CPU time of one
process is taken, on the in-process engine, from trains to trains with the state written.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.moving import gpac_in, gpac_knn
from arterial.network.train import Train
from arterial.optimize import measured
from arterial.optimize.tactics.push_down import push_down
from benchmarks.figure import Figure

OBJECTS = 100_000
SECONDS = 12
WARM_UP = 3
CITY = 10_000.0
AREA: dict[str, Any] = {"region": (0.0, 0.0, 2_000.0, 2_000.0)}
COLUMNS = {"time": int, "object": int, "x": float, "y": float, "type": str, "speed": int}

Draw = Callable[[StreamHandle], StreamHandle]


def measure() -> list[Figure]:
    """All figures."""
    timed: dict[str, Draw] = {
        "GPAC-IN on reports": lambda s: gpac_in(s, "area", **AREA, timeout=30),
        "moving GPAC-IN": lambda s: gpac_in(s, "area", focal=5, length=2_000, width=2_000),
        "GPAC-kNN, 10 nearest to an object": lambda s: gpac_knn(s, "nearest", k=10, focal=5),
        "GPAC-IN, Filter, Aggregate": lambda s: _averages(gpac_in(s, "area", **AREA)),
        "GPAC-IN and Match with 500 favourites": _favourites,
        "Latest": lambda s: s.latest("latest", "object"),
    }
    figures = [
        Figure(f"signed: {name}, CPU per second of data, 100,000 reports", 1e3 * cpu(draw), "ms")
        for name, draw in timed.items()
    ]
    plan = _drawn(lambda s: gpac_in(s.latest("latest", "object").filter("trucks", "type = 'truck'"), "area", **AREA))
    pushed = push_down(plan.value, {"area": measured(0.05)})
    before, after = (_tuples_above(Network.of(value)) for value in (plan.value, pushed))
    figures.append(
        Figure("signed: tuples above Latest, GPAC-IN on top against pushed down", before / after, "times", at_least=1.0)
    )
    return figures


def cpu(draw: Draw) -> float:
    """The median of CPU seconds for a second of data."""
    host = InProcess(_drawn(draw).value, ordered_sources=["reports"])
    spent = []
    for train in _trains():
        began = time.process_time()
        host.step({"reports": train})
        spent.append(time.process_time() - began)
    return statistics.median(spent[WARM_UP:])


def _tuples_above(net: Network) -> int:
    """The tuples that leave the box on Latest, for those above it."""
    host = InProcess(net.value, ordered_sources=["reports"])
    for train in _trains():
        host.step({"reports": train})
    first = next(end.box for arc in net.value.arcs if arc.begin.box == "latest" for end in [arc.end])
    return host.counts[first].tuples_out["out"]


def _drawn(draw: Draw) -> Network:
    net = Network("plan")
    draw(net.source("reports", COLUMNS)).output("answer")
    return net


def _averages(stream: StreamHandle) -> StreamHandle:
    fast = stream.filter("fast", "speed > 30").group_by("type")
    return fast.aggregate("averages", n="count(*)", mean="avg(speed)", most="max(speed)")


def _favourites(stream: StreamHandle) -> StreamHandle:
    some = stream.filter("favourites", "object < 500 and time = 0")
    return gpac_in(stream, "area", **AREA).match("mine", some, on="left.object = right.object")


def _trains() -> Iterator[Train]:
    chance = np.random.default_rng(1)
    x, y = chance.uniform(0, CITY, OBJECTS), chance.uniform(0, CITY, OBJECTS)
    speed, kinds = chance.integers(0, 100, OBJECTS), np.where(np.arange(OBJECTS) % 20 == 0, "truck", "car")
    for t in range(SECONDS):
        x, y = x + chance.uniform(-10, 10, OBJECTS), y + chance.uniform(-10, 10, OBJECTS)
        speed = np.where(chance.random(OBJECTS) < 0.05, chance.integers(0, 100, OBJECTS), speed)
        columns = {"time": np.full(OBJECTS, t), "object": np.arange(OBJECTS), "x": x, "y": y, "type": kinds}
        yield Train(pl.DataFrame(columns | {"speed": speed}), t)
