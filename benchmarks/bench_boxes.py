"""The boxes alone, in one process without Spark: tuples a second of each kernel, and how cost grows with groups."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.moving import fences
from arterial.network.network import NetworkValue, Port
from arterial.network.state import MemoryState
from arterial.network.train import Train
from benchmarks.figure import Figure

TUPLES = 2_000_000
TRAIN = 100_000
SECONDS_A_TRAIN = 10
GROUPS = 10_000
COLUMNS = {"g": int, "time": int, "x": float, "n": int, "word": str}


def measure() -> list[Figure]:
    """Rates of the boxes, and the growth of a grouped aggregate."""
    trains = make_trains(TUPLES, GROUPS)
    figures = []
    for name, (draw, target) in CASES.items():
        net = Network(name)
        draw(net.source("s", COLUMNS))
        costs = min((run(net.value, trains) for _ in range(2)), key=lambda cost: sum(cost.values()))
        seconds = sum(cost for box, cost in costs.items() if box not in ("s", "o"))
        remark = f"trains of {TRAIN:,} tuples"
        figures.append(Figure(f"boxes: {name}", TUPLES / seconds / 1e6, "M tuples/s", at_least=target, remark=remark))
    few, many = (_tumble_seconds(groups) for groups in (GROUPS, 10 * GROUPS))
    figures.append(Figure("boxes: tumble, 10× the groups", many / few, "× the cost", at_most=12))
    return figures


def make_trains(tuples: int, groups: int, train: int = TRAIN) -> list[Train]:
    """Trains of so many tuples in all, in order, complete."""
    chance = np.random.default_rng(1)
    words = pl.Series(["a", "bb", "ccc", None])
    trains = []
    for i in range(tuples // train):
        begin = i * SECONDS_A_TRAIN
        columns = {
            "g": chance.integers(0, groups, train),
            "time": np.sort(chance.integers(begin, begin + SECONDS_A_TRAIN, train)),
            "x": chance.random(train),
            "n": chance.integers(0, 100, train),
            "word": words[chance.integers(0, 4, train)],
        }
        trains.append(Train(pl.DataFrame(columns), begin + SECONDS_A_TRAIN - 1))
    return trains


def run(network: NetworkValue, trains: list[Train]) -> dict[str, float]:
    """Send the trains through a network, box by box; the seconds that each box took."""
    states = {box.name: MemoryState() for box in network.boxes}
    costs = dict.fromkeys(states, 0.0)
    for train in trains:
        streams: dict[Port, Train] = {}
        for box in network.order:
            inputs = {port: streams[begin] for port, begin in network.arrivals(box).items()} or {"arrivals": train}
            began = time.perf_counter()
            outputs: Mapping[str, Train] = box.process(inputs, states[box.name])
            costs[box.name] += time.perf_counter() - began
            streams.update({Port(box.name, port): made for port, made in outputs.items()})
    return costs


def _tumble_seconds(groups: int) -> float:
    net = Network("growth")
    CASES["tumble, 10,000 groups"][0](net.source("s", COLUMNS))
    return run(net.value, make_trains(TUPLES // 2, groups))["t"]


def _chain(s: StreamHandle) -> None:
    chain = s.filter("f1", "x > 0.1").map("m1", y="x * 2 + n").filter("f2", "y < 90")
    chain.map("m2", z="y - x").filter("f3", "z > 1").output("o")


def _relation(s: StreamHandle) -> None:
    by = s.group_by("g")
    relation = s.network.relation("r", {"g": int, "total": float, "times": int}, "g")
    by.update_relation("u", relation, total="sum(x)", times="count(*)")
    by.read_relation("r", relation).output("o")


def _polygons(count: int) -> dict[str, str]:
    """Polygons of twelve corners side by side, 25 in x from 0 to 1, the rest in y from 0 to 100, with gaps between."""
    made, rows = {}, count // 25
    angles = [math.tau * corner / 12 for corner in range(12)]
    for i in range(count):
        x, y = (i % 25 + 0.5) / 25, (i // 25 + 0.5) * 100 / rows
        ring = ", ".join(f"{x + 0.018 * math.cos(a)} {y + 45 / rows * math.sin(a)}" for a in angles)
        made[f"f{i}"] = f"polygon(({ring}))"
    return made


CASES: dict[str, tuple[Callable[[StreamHandle], object], float | None]] = {
    "stateless chain of 5": (_chain, 10),
    "tumble, 10,000 groups": (
        lambda s: s.group_by("g").tumble("t", every=60, n="count(*)", a="avg(x)", m="max(n)").output("o"),
        2,
    ),
    "tumble by 10 tuples": (lambda s: s.group_by("g").tumble("t", size=10, a="avg(x)").output("o"), 2),
    "tumble, grouped by text": (lambda s: s.group_by("word").tumble("t", every=60, a="avg(x)").output("o"), 2),
    "tumble, count distinct": (
        lambda s: s.group_by("g").tumble("t", every=60, d="count(distinct n)").output("o"),
        None,
    ),
    "slide, 60 s every 20 s": (lambda s: s.group_by("g").slide("t", over=60, every=20, a="avg(x)").output("o"), None),
    "slide by 4 tuples": (lambda s: s.group_by("g").slide("t", size=4, a="avg(x)").output("o"), None),
    "latch": (lambda s: s.group_by("g").latch("t", every=60, a="avg(x)", m="max(n)").output("o"), None),
    "resample": (lambda s: s.group_by("g").resample("t", every=5, within=30, x="linear").output("o"), None),
    "drop": (lambda s: s.drop("d", 0.5).output("o"), None),
    "join, 2 s, a tenth": (
        lambda s: s.filter("f", "x < 0.1").group_by("g").join("t", s.group_by("g", name="b"), within=2).output("o"),
        None,
    ),
    "wait for": (
        lambda s: s.group_by("g").wait_for("t", "until.x > x", s.group_by("g", name="b")).output("o"),
        None,
    ),
    "relation, updated and read": (_relation, None),
    "bsort": (lambda s: s.map("m", t="time - n % 3", time_column="t").bsort("b", 3).output("o"), None),
    "fences, 1,000 polygons": (
        lambda s: fences(s.group_by("g"), "t", _polygons(1000), object="g", y="n", dwell=60).output("o"),
        1,
    ),
    "union": (lambda s: s.union("u", s.filter("f", "x > 0.5")).output("o"), None),
}
