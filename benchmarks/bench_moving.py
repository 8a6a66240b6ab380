"""Moving queries: delay on Spark in real time, CPU per second of data, growth with the number of queries, and CPU
against a fresh index every second.

Traffic is made by `arterial.moving.traffic`: 100,000 objects in a city of 12 km, each reporting every second. CPU time
is taken: of the kernels, from ids and coordinates in arrays to the changes of all answers in arrays; of the box in a
network on the in-process engine, from trains to trains with its state written; of all processes of the run on Spark,
Java's too, from the events on the disk to the file of updates. What is compared is measured in turns, second by second.

Two shards against one: the network of `arterial moving run` in this process, from trains of ten seconds to the file of
updates. What counts of a step is the slowest slot, its part of the updates written, and the driver's merging of parts.
The same on Spark is the command, as fast as possible: seconds a step, from commit to commit, the runs of both in turns.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
import psutil
from scipy.spatial import cKDTree

from arterial.arrays import Array
from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import Source
from arterial.boxes.tuples.group_by import GroupBy
from arterial.connectors.pace import MAX, Pace
from arterial.connectors.sink import Delivery
from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.engine.plan.plan import HEAD
from arterial.engine.transport.parcels import Parcel
from arterial.figures.steps_file import read_steps
from arterial.moving.application.merging import merged
from arterial.moving.application.update_sink import UpdateSink
from arterial.moving.boxes.moving_queries import MovingQueries
from arterial.moving.queries.events import MovingNearest, MovingRange
from arterial.moving.queries.query_columns import QUERY_SCHEMA, row_of
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.traffic import Positions, Traffic, TrafficSettings
from arterial.network.keys.slots import pieces
from arterial.network.network import Port
from arterial.network.schema import Schema, Type
from arterial.network.train import Train
from arterial.storage.appended import AppendedFiles
from benchmarks.figure import Figure

OBJECTS = 100_000
QUERIES = 1_000
"""So many moving ranges, and so many moving nearest-neighbour queries."""
SIDE = 300.0
K = 10
SECONDS = 24
WARM_UP = 4
SPREAD = (1_000, 5_000, 20_000)
"""So many queries of each kind are spread over two shards."""
SPREAD_SECONDS = 10
"""Seconds of data in a train, as in a run that does not wait: a million reports."""
SPARK_SECONDS = 75
STEADY = (10.0, 65.0)
"""The seconds, from the first update on, over which the CPU of the run on Spark is taken."""


class Contender(Protocol):
    """Something that keeps all answers up to date."""

    def take(self, t: int, reports: Positions) -> object:
        """Take in a second."""


def measure() -> list[Figure]:
    """All figures."""
    contenders: dict[str, Contender] = {
        "fresh": FreshIndex(QUERIES),
        "kernels": Kernels(QUERIES),
        "many kernels": Kernels(10 * QUERIES),
        "few": InANetwork(QUERIES // 10),
        "box": InANetwork(QUERIES),
        "many": InANetwork(10 * QUERIES),
    }
    cost = in_turns(contenders)
    of = f"{QUERIES:,} + {QUERIES:,} queries, {OBJECTS:,} updates"
    fresh = f"fresh index {1e3 * cost['fresh']:.0f} ms"
    return [
        *on_spark(),
        Figure(f"moving: CPU of the kernels per second of data, {of}", cost["kernels"], "s", at_most=0.4),
        Figure(
            f"moving: CPU of the box per second of data, {of}", cost["box"], "s", at_most=0.4, remark="state written"
        ),
        Figure(
            "moving: CPU of a fresh cKDTree every second over the box's",
            cost["fresh"] / cost["box"],
            "×",
            at_least=5,
            remark=f"{fresh}, box {1e3 * cost['box']:.1f} ms",
        ),
        Figure(
            "moving: CPU of a fresh cKDTree every second over the kernels'",
            cost["fresh"] / cost["kernels"],
            "×",
            at_least=5,
            remark=f"{fresh}, kernels {1e3 * cost['kernels']:.1f} ms",
        ),
        Figure("moving: cost of an update, 10× queries, 100 + 100 first", cost["box"] / cost["few"], "×", at_most=5),
        Figure(
            "moving: cost of an update, 10× queries, 1,000 + 1,000 first", cost["many"] / cost["box"], "×", at_most=5
        ),
        Figure(
            "moving: the same in the kernels alone",
            cost["many kernels"] / cost["kernels"],
            "×",
            remark="for information: every member of every answer is looked at",
        ),
        *(in_shards(queries) for queries in SPREAD),
        in_shards_on_spark(SPREAD[-1]),
    ]


def in_turns(contenders: dict[str, Contender]) -> dict[str, float]:
    """CPU seconds of each for a second of data, the median."""
    traffic = Traffic(TrafficSettings(objects=OBJECTS, leaving=0.0))
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for t in range(SECONDS):
        reports = traffic.step()
        for name, contender in contenders.items():
            began = time.process_time()
            contender.take(t, reports)
            taken[name].append(time.process_time() - began)
    return {name: statistics.median(some[WARM_UP:]) for name, some in taken.items()}


def focals(queries: int) -> tuple[Array, Array]:
    """The focal objects of the ranges and of the nearest-neighbour queries."""
    chosen = np.random.default_rng(1).choice(OBJECTS, 2 * queries, replace=False)
    return chosen[:queries], chosen[queries:]


class Kernels:
    """Shared execution."""

    def __init__(self, queries: int) -> None:
        self.engine = SharedExecution()
        for i, (around, near) in enumerate(zip(*focals(queries), strict=True)):
            self.engine.register(i, MovingRange(int(around), SIDE, SIDE))
            self.engine.register(queries + i, MovingNearest(K, int(near)))

    def take(self, t: int, reports: Positions) -> None:
        """A time unit."""
        self.engine.step(float(t), self.engine.objects_of(reports.id), reports.x, reports.y)


class InANetwork:
    """The box of moving queries in a network."""

    def __init__(self, queries: int, shards: int = 1) -> None:
        integer, number = Type.INT64, Type.FLOAT64
        network = Network("bench")
        positions = Schema.of({"t": integer, "object": integer, "x": number, "y": number})
        asked = Schema.of({"t": integer} | QUERY_SCHEMA | {"focal": integer})
        sources = {
            "objects": network.box(Source("objects", positions, "t")),
            "queries": network.box(Source("queries", asked, "t")),
        }
        if shards > 1:
            sources["queries"] = network.box(GroupBy("by_query", ("query",)), **{"in": sources["queries"]})
        network.box(MovingQueries("moving"), **sources)
        network.box(Output("updates"), **{"in": StreamHandle(network, Port("moving", "out"))})
        self.host = InProcess(network.value, shards=shards, ordered_sources=["objects", "queries"])
        around, near = focals(queries)
        rows = [row_of(MovingRange(focal, SIDE, SIDE)) | {"focal": focal} for focal in around.tolist()]
        rows += [row_of(MovingNearest(K, focal)) | {"focal": focal} for focal in near.tolist()]
        rows = [{"t": 0, "query": str(i)} | row for i, row in enumerate(rows)]
        self.queries = pl.DataFrame(rows, schema=asked.polars())

    def take(self, t: int, reports: Positions) -> pl.DataFrame:
        """A train; the updates."""
        columns = {"t": np.full(len(reports.id), t), "object": reports.id, "x": reports.x, "y": reports.y}
        objects = Train(pl.DataFrame(columns), t)
        queries = Train(self.queries if t == 0 else self.queries.clear(), t)
        return self.host.step({"objects": objects, "queries": queries})["updates"].tuples


class InShards(InANetwork):
    """The same in several shards, with a file of updates; says what a step takes where every slot has a core."""

    def __init__(self, queries: int, shards: int, folder: Path) -> None:
        super().__init__(queries, shards)
        self.shards, self.step = shards, 0
        self.out = folder / f"{shards}.csv"
        files = AppendedFiles({"0": self.out}, folder / f"parts-{shards}", merged)
        files.open(folder)
        self.sink = UpdateSink(files, pace=Pace(0, MAX), spread=shards > 1)

    def seconds(self, t: int, reports: list[Positions]) -> float:
        """Take in seconds that end at `t`; the CPU of the slowest slot, and of the driver."""
        times = np.repeat(np.arange(t + 1 - len(reports), t + 1), [len(some.id) for some in reports])
        columns = {name: np.concatenate([getattr(some, name) for some in reports]) for name in ("id", "x", "y")}
        objects = pl.DataFrame({"t": times, "object": columns["id"], "x": columns["x"], "y": columns["y"]})
        queries = self.queries if self.step == 0 else self.queries.clear()
        reads = {
            name: [[Train(part, t)] for part in pieces(tuples, self.shards)]
            for name, tuples in (("objects", objects), ("queries", queries))
        }
        took = {(level, slot): 0.0 for level in (HEAD, 0) for slot in range(self.shards)}
        parcels: list[Parcel] = []
        for level, slot in took:
            began = time.process_time()
            sources = {name: parts[slot] for name, parts in reads.items()} if level == HEAD else {}
            arrived = [parcel for parcel in parcels if parcel.receiver == slot] if level == 0 else []
            outcome = self.host.run_slot(level, slot, arrived, sources)
            parcels += outcome.parcels
            if "updates" in outcome.deliveries:
                self.sink.write(Delivery("updates", self.step, slot, outcome.deliveries["updates"]))
            took[level, slot] = time.process_time() - began
        began = time.process_time()
        self.sink.commit(self.step)
        self.step += 1
        slowest = (max(took[level, slot] for slot in range(self.shards)) for level in (HEAD, 0))
        return sum(slowest) + time.process_time() - began


def in_shards(queries: int) -> Figure:
    """Two shards against one."""
    traffic = Traffic(TrafficSettings(objects=OBJECTS, leaving=0.0))
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as folder:
        one, two = (InShards(queries, shards, Path(folder)) for shards in (1, 2))
        taken: dict[InShards, list[float]] = {one: [], two: []}
        for t in range(SPREAD_SECONDS - 1, 7 * SPREAD_SECONDS, SPREAD_SECONDS):
            reports = [traffic.step() for _ in range(SPREAD_SECONDS)]
            for some, so_far in taken.items():
                so_far.append(some.seconds(t, reports))
        assert filecmp.cmp(one.out, two.out, shallow=False), "two shards wrote another file than one"
    alone, spread = (statistics.median(some[2:]) / SPREAD_SECONDS for some in taken.values())
    return Figure(
        f"moving: rate of two shards over one's, {queries:,} + {queries:,} queries",
        alone / spread,
        "×",
        at_least=1.6,
        remark=f"{1e3 * spread:.1f} and {1e3 * alone:.1f} ms for a second of data, file of updates included",
    )


def in_shards_on_spark(queries: int) -> Figure:
    """Two shards against one, each a run on Spark with two cores."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        events = folder / "events.parquet"
        traffic = ("--objects", OBJECTS, "--seconds", SPARK_SECONDS, "--leaving", 0, "--new", 0)
        asked = ("--moving-ranges", queries, "--moving-knn", queries, "--side", SIDE, "--k", K)
        _run("generate", "--out", events, *traffic, *asked)
        for shards in (1, 2, 2, 1):
            out, checkpoint = folder / f"{shards}.csv", folder / "checkpoint"
            words = ("--checkpoint", checkpoint, "--master", "local[2]", "--shards", shards)
            _run("run", events, "--out", out, *words, "--train-size", SPREAD_SECONDS * OBJECTS)
            steps = list(read_steps(checkpoint))
            taken[shards] += [step.seconds for step in steps[2:-1]]  # the first ones begin the queries
            shutil.rmtree(checkpoint)
        assert filecmp.cmp(folder / "1.csv", folder / "2.csv", shallow=False), "two shards wrote another file than one"
    alone, spread = (statistics.median(taken[shards]) for shards in (1, 2))
    return Figure(
        f"moving on Spark: rate of two shards over one's, {queries:,} + {queries:,} queries",
        alone / spread,
        "×",
        at_least=1.6,
        remark=f"{spread:.2f} and {alone:.2f} s a step of {SPREAD_SECONDS * OBJECTS:,} reports",
    )


class FreshIndex:
    """Every query asked anew, every second, of an index built anew, all at once, vectorised; and the differences."""

    def __init__(self, queries: int) -> None:
        self.around, self.near = focals(queries)
        self.last: list[set[int]] = [set()] * (2 * queries)

    def take(self, t: int, reports: Positions) -> None:
        """A second."""
        points = np.column_stack([reports.x, reports.y])
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        inside = tree.query_ball_point(points[self.around], SIDE / 2, p=np.inf)
        nearest = tree.query(points[self.near], k=K + 1)[1]
        answers = [set(answer) - {focal} for answer, focal in zip(inside, self.around.tolist(), strict=True)]
        for answer, focal in zip(nearest.tolist(), self.near.tolist(), strict=True):
            answers.append(set([one for one in answer if one != focal][:K]))  # others may be in the very same place
        _ = [(old - new, new - old) for old, new in zip(self.last, answers, strict=True)]
        self.last = answers


def on_spark() -> list[Figure]:
    """The command in real time: how late updates are in the file, and what all its processes cost."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        traffic = ("--objects", OBJECTS, "--seconds", SPARK_SECONDS, "--leaving", 0, "--new", 0)
        asked = ("--moving-ranges", QUERIES, "--moving-knn", QUERIES, "--side", SIDE, "--k", K)
        events, out = folder / "events.parquet", folder / "updates.csv"
        _run("generate", "--out", events, *traffic, *asked)
        words = ("run", events, "--out", out, "--checkpoint", folder / "checkpoint", "--speed", 1, "--json")
        with subprocess.Popen(_command(*words), stdout=subprocess.PIPE, text=True) as process:
            cores = _cpu_of(psutil.Process(process.pid), out)
            assert process.stdout is not None
            said = json.loads(process.stdout.read())
    rate = said["reports"] / said["time_units"]
    remark = f"{rate:,.0f} updates of positions a second, {said['updates'] / said['time_units']:,.0f} of answers"
    return [
        Figure("moving on Spark: p99 delay, real time", said["delay_p99"], "s", at_most=2, remark=remark),
        Figure("moving on Spark: worst delay", said["delay_worst"], "s"),
        Figure("moving on Spark: CPU of all processes per second of data", cores, "s", at_most=2, remark="2 cores"),
    ]


def _cpu_of(process: psutil.Process, out: Path) -> float:
    """CPU seconds a second of a process and all below it, while it is in its stride; waits for its end."""
    spent: dict[int, float] = {}
    marks: list[tuple[float, float]] = []
    began = None
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if began is None and out.exists() and out.stat().st_size:
            began = time.monotonic()
        try:
            for one in (process, *process.children(recursive=True)):
                times = one.cpu_times()
                spent[one.pid] = times.user + times.system
        except psutil.Error:
            pass  # one that has just ended
        if began is not None and STEADY[0] <= time.monotonic() - began <= STEADY[1]:
            marks.append((time.monotonic(), sum(spent.values())))
        time.sleep(0.5)
    return (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])


def _run(*words: object) -> None:
    subprocess.run(_command(*words, "--json"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "arterial", "moving", *map(str, words)]
