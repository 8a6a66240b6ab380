"""Moving queries: CPU per second of data, growth with the number of queries, and against a fresh index every second.

Traffic is made by `arterial.moving.traffic`: 100,000 objects in a city of 12 km, each reporting every second. CPU time
of one process is taken: of the kernels, from ids and coordinates in arrays to the changes of all answers in arrays; and
of the box in a network on the in-process engine, from trains to trains with its state written.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.spatial import cKDTree

from arterial.boxes import Output, Source
from arterial.drawing import Network, StreamHandle
from arterial.engine.inprocess import InProcess
from arterial.moving.box import MovingQueries
from arterial.moving.events import MovingNearest, MovingRange
from arterial.moving.query_columns import QUERY_SCHEMA, row_of
from arterial.moving.shared import SharedExecution
from arterial.moving.traffic import Traffic, TrafficSettings
from arterial.network.network import Port
from arterial.network.schema import Schema, Type
from arterial.network.train import Train
from benchmarks.figure import Figure

Array = np.ndarray[Any, Any]

OBJECTS = 100_000
SECONDS = 20
WARM_UP = 4
SIDE = 300.0
K = 10


@dataclass(frozen=True)
class Reports:
    """The reports of one second."""

    ids: Array
    x: Array
    y: Array


def measure() -> list[Figure]:
    """All figures."""
    stream = reports(SECONDS)
    kernels, many, fresh = shared(stream, 1_000), shared(stream, 10_000), from_fresh_index(stream, 1_000)
    box = {queries: in_a_network(stream, queries) for queries in (100, 1_000, 10_000)}
    return [
        Figure(
            "moving: CPU of the kernels per second of data, 1,000 + 1,000 queries, 100,000 updates",
            kernels,
            "s",
            at_most=0.4,
            remark="one core, median",
        ),
        Figure(
            "moving: CPU of the box per second of data, 1,000 + 1,000 queries, 100,000 updates",
            box[1_000],
            "s",
            at_most=0.4,
            remark="one core, median, state written",
        ),
        Figure(
            "moving: cost of 10× queries in the kernels alone, 1,000 + 1,000 to 10,000 + 10,000",
            many / kernels,
            "×",
            remark="for information: without what every update costs around them",
        ),
        Figure("moving: cost of 10× queries, 100 + 100 to 1,000 + 1,000", box[1_000] / box[100], "×", at_most=5),
        Figure(
            "moving: cost of 10× queries, 1,000 + 1,000 to 10,000 + 10,000", box[10_000] / box[1_000], "×", at_most=5
        ),
        Figure(
            "moving: CPU of a fresh cKDTree every second over the kernels', 1,000 + 1,000 queries",
            fresh / kernels,
            "×",
            at_least=5,
            remark=f"fresh index {1e3 * fresh:.0f} ms, ours {1e3 * kernels:.1f} ms",
        ),
    ]


def reports(seconds: int) -> list[Reports]:
    """Traffic, a second at a time."""
    traffic = Traffic(TrafficSettings(objects=OBJECTS, leaving=0.0))
    positions = [traffic.step() for _ in range(seconds)]
    return [Reports(one.id, one.x, one.y) for one in positions]


def focals(queries: int) -> tuple[Array, Array]:
    """The focal objects of the ranges and of the nearest-neighbour queries."""
    chosen = np.random.default_rng(1).choice(OBJECTS, 2 * queries, replace=False)
    return chosen[:queries], chosen[queries:]


def shared(stream: list[Reports], queries: int) -> float:
    """CPU seconds of shared execution for a second of data."""
    engine = SharedExecution()
    around, near = focals(queries)
    for i in range(queries):
        engine.register(i, MovingRange(int(around[i]), SIDE, SIDE))
        engine.register(queries + i, MovingNearest(K, int(near[i])))
    taken = []
    for t, second in enumerate(stream):
        began = time.process_time()
        engine.step(float(t), engine.objects_of(second.ids), second.x, second.y)
        taken.append(time.process_time() - began)
    return statistics.median(taken[WARM_UP:])


def in_a_network(stream: list[Reports], queries: int) -> float:
    """CPU seconds of the box in a network, for a second of data."""
    integer, number = Type.INT64, Type.FLOAT64
    network = Network("bench")
    positions = Schema.of({"t": integer, "object": integer, "x": number, "y": number})
    asked = Schema.of({"t": integer} | QUERY_SCHEMA | {"focal": integer})
    sources = {
        "objects": network.box(Source("objects", positions, "t")),
        "queries": network.box(Source("queries", asked, "t")),
    }
    network.box(MovingQueries("moving"), **sources)
    network.box(Output("updates"), **{"in": StreamHandle(network, Port("moving", "out"))})
    host = InProcess(network.value, ordered_sources=["objects", "queries"])
    around, near = focals(queries)
    rows = [row_of(MovingRange(focal, SIDE, SIDE)) | {"focal": focal} for focal in around.tolist()]
    rows += [row_of(MovingNearest(K, focal)) | {"focal": focal} for focal in near.tolist()]
    rows = [{"t": 0, "query": str(i)} | row for i, row in enumerate(rows)]
    first = pl.DataFrame(rows, schema=asked.polars())
    taken = []
    for t, second in enumerate(stream):
        frame = pl.DataFrame({"t": np.full(len(second.ids), t), "object": second.ids, "x": second.x, "y": second.y})
        trains = {"objects": Train(frame, t), "queries": Train(first if t == 0 else first.clear(), t)}
        began = time.process_time()
        host.step(trains)
        taken.append(time.process_time() - began)
    return statistics.median(taken[WARM_UP:])


def from_fresh_index(stream: list[Reports], queries: int) -> float:
    """CPU seconds for a second of data if every query is asked anew of an index built anew, all at once, vectorised."""
    around, near = focals(queries)
    last: list[set[int]] = [set()] * (2 * queries)
    taken = []
    for second in stream:
        began = time.process_time()
        points = np.column_stack([second.x, second.y])
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        inside = tree.query_ball_point(points[around], SIDE / 2, p=np.inf)
        nearest = tree.query(points[near], k=K + 1)[1]
        answers = [set(answer) - {focal} for answer, focal in zip(inside, around.tolist(), strict=True)]
        answers += [set(answer) - {focal} for answer, focal in zip(nearest.tolist(), near.tolist(), strict=True)]
        _ = [(old - new, new - old) for old, new in zip(last, answers, strict=True)]
        last = answers
        taken.append(time.process_time() - began)
    return statistics.median(taken[WARM_UP:])
