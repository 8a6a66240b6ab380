"""The engine against itself without Spark, against plain Structured Streaming, and its fixed cost.

Every figure is a ratio within this run or a time of a warm engine. `ARTERIAL_BENCH_TUPLES` sets the number of tuples.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.arc_steering import StepSteering
from arterial.engine.host.inprocess import InProcess
from arterial.engine.host.level import Counts, Outcome
from arterial.engine.host.outcome_files import report
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.plan import HEAD
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.session import spark_session
from arterial.engine.transport.rows import pack_report, unpack_report
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train
from benchmarks.figure import Figure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES = int(os.environ.get("ARTERIAL_BENCH_TUPLES", "10000000"))
STEPS = 2
FIRST = 1
"""Trains before the clock starts: with the first one Spark still plans the query and loads workers."""
FILES = 10
GROUPS = 10_000
PER_SECOND = 10_000
SHARDS = 2
COLUMNS = {"time": "int64", "key": "int32", "value": "int64", "speed": "float64"}


def measure() -> list[Figure]:
    """All figures of the engine."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        spark = spark_session("bench engine", master=f"local[{SHARDS}]")
        try:
            return [
                *_chain(spark, folder),
                *_tumble(spark, folder),
                *_per_group(spark, folder),
                *_empty_steps(spark, folder),
                *_durable(spark, folder),
            ]
        finally:
            spark.stop()


def chain() -> NetworkValue:
    """Five stateless boxes."""
    net = Network("chain")
    reports = net.source("reports", COLUMNS)
    some = reports.filter("moving", "speed > 30").map("in_km", kmh="speed * 1.609").filter("small", "value < 900")
    some.map("scored", score="value + 2 * key").filter("wanted", "kmh < 200 or score > 100").output("out")
    return net.value


def tumble() -> NetworkValue:
    """A grouped aggregate over windows of a minute."""
    net = Network("tumble")
    by_key = net.source("reports", COLUMNS).group_by("key")
    by_key.tumble("minutes", every=60, peak="max(speed)", n="count(*)", total="sum(value)").output("out")
    return net.value


def make_files(folder: Path, tuples: int, groups: int) -> Path:
    """The tuples in files of equal size, in the order of time."""
    folder.mkdir(parents=True)
    chance = np.random.default_rng(1)
    each = tuples // FILES
    for n in range(FILES + FIRST * FILES // STEPS):
        order = np.arange(n * each, (n + 1) * each)
        pl.DataFrame(
            {
                "time": order // PER_SECOND,
                "key": chance.integers(0, groups, each).astype(np.int32),
                "value": chance.integers(0, 1000, each),
                "speed": chance.random(each) * 150,
            }
        ).write_parquet(folder / f"{n:03d}.parquet", compression="lz4")
        os.utime(folder / f"{n:03d}.parquet", (n, n))
    return folder


def _chain(spark: SparkSession, folder: Path) -> list[Figure]:
    data = make_files(folder / "chain", TUPLES, GROUPS)
    bare, with_spark = _both(spark, chain(), data, folder / "chain-runs")
    return _speeds("(a) 5 stateless boxes", bare, with_spark)


def _tumble(spark: SparkSession, folder: Path) -> list[Figure]:
    data = make_files(folder / "tumble", TUPLES, GROUPS)
    bare, with_spark = _both(spark, tumble(), data, folder / "tumble-runs")
    plain = _best(2, lambda n: _structured_streaming(spark, data, folder / f"plain-{n}"))
    few = make_files(folder / "few", TUPLES // 10, GROUPS)
    many = make_files(folder / "many", TUPLES, 10 * GROUPS)
    time_few = _run(spark, tumble(), few, folder / "few-run", TUPLES // 10)
    time_many = _run(spark, tumble(), many, folder / "many-run", TUPLES)
    return [
        *_speeds("(b) grouped tumble", bare, with_spark),
        Figure("(c) speed over Structured Streaming's own windows", plain / with_spark, "×", at_least=1.0),
        Figure("(f) 10× the tuples cost", with_spark / time_few, "×", at_most=12.0),
        Figure("(f) 10× the groups cost", time_many / with_spark, "×", at_most=12.0),
    ]


def _speeds(name: str, bare: float, with_spark: float) -> list[Figure]:
    speed = TUPLES / with_spark
    trains = f"{TUPLES:,} tuples in {STEPS} trains, after a first one"
    return [
        Figure(f"{name}: tuples a second", speed, "1/s", at_least=1e6, remark=trains),
        Figure(
            f"{name}: of the bare loop's speed",
            bare / with_spark,
            "×",
            at_least=0.5,
            remark=f"{TUPLES / bare:,.0f}/s bare",
        ),
    ]


def _both(spark: SparkSession, network: NetworkValue, data: Path, scratch: Path) -> tuple[float, float]:
    """Seconds of the bare loop over the trains, and of the same on Spark; warm, the best of some."""
    bare = _best(2, lambda n: _bare(network, data))
    _run(spark, network, data, scratch / "warm", TUPLES)
    with_spark = _best(4, lambda n: _run(spark, network, data, scratch / str(n), TUPLES))
    return bare, with_spark


def _best(tries: int, measured: Callable[[int], float]) -> float:
    return min(measured(n) for n in range(tries))


def _bare(network: NetworkValue, data: Path) -> float:
    """The same boxes, called in a loop in this process over the same trains, read from the same files."""
    host = InProcess(network, ordered_sources=["reports"])
    ends = []
    for trains in _trains(data):
        host.step(trains)
        ends.append(time.perf_counter())
    return ends[-1] - ends[FIRST - 1]


def _trains(data: Path) -> Iterator[dict[str, Train]]:
    files = sorted(data.glob("*.parquet"))
    each = FILES // STEPS
    for n in range(FIRST + STEPS):
        tuples = pl.concat([pl.read_parquet(file) for file in files[n * each : (n + 1) * each]])
        yield {"reports": Train(tuples, END if n + 1 == FIRST + STEPS else int(tuples["time"][-1]))}


def _run(spark: SparkSession, network: NetworkValue, data: Path, checkpoint: Path, tuples: int) -> float:
    settings = Settings(shards=SHARDS, train_size=tuples // STEPS)
    noted = _StepEnds()
    sinks = {box.name: noted for box in network.boxes if not box.outputs}
    run(network, {"reports": FileSource(data)}, sinks, checkpoint, settings, spark=spark).wait()
    return noted.ends[-1] - noted.ends[FIRST - 1]


class _StepEnds(Sink):
    """Notes when each step is committed, and lets the tuples go."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def write(self, delivery: Delivery) -> None:
        """Let them go."""

    def commit(self, step: int) -> None:
        """Note the time."""
        self.ends.append(time.perf_counter())


def _structured_streaming(spark: SparkSession, data: Path, checkpoint: Path) -> float:
    """The windows of Spark itself over the same files, in as many steps, its answers thrown away too."""
    from pyspark.sql import functions as f

    spark.conf.set("spark.sql.shuffle.partitions", str(SHARDS))
    schema = "time bigint, key int, value bigint, speed double"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES // STEPS)
    reports = reader.parquet(str(data)).withColumn("at", f.timestamp_seconds("time"))
    windows = reports.withWatermark("at", "0 seconds").groupBy(f.window("at", "60 seconds"), "key")
    answers = windows.agg(f.max("speed").alias("peak"), f.count("*").alias("n"), f.sum("value").alias("total"))
    return _seconds_after_the_first(answers.writeStream.outputMode("append"), checkpoint)


def _per_group(spark: SparkSession, folder: Path) -> list[Figure]:
    """Against a stateful step of Spark with one group for each key, as one would write it by hand."""
    tuples = max(TUPLES // 50, FILES * 1000)
    data = make_files(folder / "per-group", tuples, GROUPS)
    ours = _run(spark, tumble(), data, folder / "per-group-ours", tuples)
    theirs = _transform_with_state(spark, data, folder / "per-group-theirs")
    return [Figure("(d) speed over transformWithStateInPandas per group", theirs / ours, "×", at_least=20.0)]


def _transform_with_state(spark: SparkSession, data: Path, checkpoint: Path) -> float:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Minutes(StatefulProcessor):
        """The window of a group: its minute, its peak, its count and its sum."""

        def init(self, handle: Any) -> None:
            self._window = handle.getValueState("window", "minute bigint, peak double, n bigint, total bigint")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            frame = pd.concat(rows)
            grouped = frame.groupby(frame["time"] // 60)
            found = grouped.agg(peak=("speed", "max"), n=("time", "size"), total=("value", "sum")).reset_index()
            kept = self._window.get()
            windows = [tuple(row) for row in found.itertuples(index=False)]
            if kept is not None and kept[0] == windows[0][0]:
                first = windows[0]
                windows[0] = (kept[0], max(kept[1], first[1]), kept[2] + first[2], kept[3] + first[3])
            elif kept is not None:
                windows.insert(0, kept)
            self._window.update(tuple(value.item() if hasattr(value, "item") else value for value in windows[-1]))
            yield pd.DataFrame(
                [(key[0], *window) for window in windows[:-1]], columns=["key", "minute", "peak", "n", "total"]
            )

        def close(self) -> None:
            pass

    spark.conf.set("spark.sql.shuffle.partitions", str(SHARDS))
    reader = spark.readStream.schema("time bigint, key int, value bigint, speed double")
    reports = reader.option("maxFilesPerTrigger", FILES // STEPS).parquet(str(data))
    answers = reports.groupBy("key").transformWithStateInPandas(
        statefulProcessor=Minutes(),
        outputStructType="key int, minute bigint, peak double, n bigint, total bigint",
        outputMode="Append",
        timeMode="None",
    )
    return _seconds_after_the_first(answers.writeStream, checkpoint)


def _seconds_after_the_first(writer: Any, checkpoint: Path) -> float:
    """How long a query takes for all steps but the first, its answers thrown away."""
    writer = writer.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    steps = [step for step in query.recentProgress if step["numInputRows"]]
    return float(sum(step["durationMs"]["triggerExecution"] for step in steps[FIRST:])) / 1000


def two_superboxes() -> NetworkValue:
    """Two shuffles, so two levels behind the head."""
    net = Network("empty")
    first = net.source("reports", COLUMNS).group_by("key").tumble("minutes", every=60, n="count(*)")
    first.group_by("n").tumble("counts", every=120, groups="count(*)").output("out")
    return net.value


def _empty_steps(spark: SparkSession, folder: Path) -> list[Figure]:
    """The time of a step of two superboxes without a tuple in it, warm."""
    network = two_superboxes()
    schema = network.box("reports").streams({})["out"].schema
    warm, counted = 150, 100
    trains = [Train(schema.empty(), second) for second in range(warm + counted)]
    sink = MemorySink()
    settings = Settings(shards=SHARDS)
    running = run(network, {"reports": MemorySource(trains)}, {"out": sink}, folder / "empty", settings, spark=spark)
    query = spark.streams.active[-1]
    times: dict[int, float] = {}
    while not running.wait(0.01):
        times[running.statistics.steps] = running.statistics.step_seconds
    late = [seconds for step, seconds in times.items() if step > warm]
    counting = _counting(network)
    return [
        Figure(
            "(e) a step of two superboxes without tuples",
            1000 * statistics.median(late),
            "ms",
            at_most=350.0,
            remark=f"median of {len(late)} steps after {warm}; {_parts(query.recentProgress)}",
        ),
        Figure(
            "figures, of the shortest step there is",
            100 * counting / statistics.median(late),
            "%",
            at_most=3.0,
            remark=f"{1000 * counting:.2f} ms in all tasks and on the driver, tuples or none",
        ),
    ]


def _parts(progress: Sequence[Any]) -> str:
    """Where the time of a step goes, as Spark measures it: the median of each part over the last steps."""
    named = {
        "planned by us": "latestOffset",
        "offset logged": "walCommit",
        "planned by Spark": "queryPlanning",
        "run": "addBatch",
        "commit logged": "commitOffsets",
    }
    steps = [step["durationMs"] for step in progress if step["numInputRows"]]
    medians = {what: statistics.median(step[name] for step in steps) for what, name in named.items()}
    return ", ".join(f"{what} {milliseconds:.0f} ms" for what, milliseconds in medians.items())


def _durable(spark: SparkSession, folder: Path) -> list[Figure]:
    """What `--durable` adds to a step of two superboxes that changes state and writes files."""
    steps, each = 30, 2000
    order = pl.int_range(steps * each, eager=True)
    keys, speeds = (order * 7919 % GROUPS).cast(pl.Int32), order.cast(pl.Float64)
    rows = pl.DataFrame({"time": order // 20, "key": keys, "value": order, "speed": speeds})
    parts = [rows.slice(n * each, each) for n in range(steps)]
    trains = [Train(part, END if n + 1 == steps else int(part["time"][-1])) for n, part in enumerate(parts)]
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for n, durable in enumerate([False, True] * 3):
        sinks = {"out": FileSink(folder / f"durable-{n}" / "out")}
        settings = Settings(shards=SHARDS, durable=durable)
        began = time.perf_counter()
        run(
            two_superboxes(), {"reports": MemorySource(trains)}, sinks, folder / f"durable-{n}", settings, spark=spark
        ).wait()
        seconds[durable].append((time.perf_counter() - began) / steps)
    plain, synced = (statistics.median(seconds[durable]) for durable in (False, True))
    remark = f"{1000 * plain:.0f} ms without, median of 3 runs of {steps} steps each"
    return [Figure("(g) --durable adds to a step", 1000 * (synced - plain), "ms", at_most=250.0, remark=remark)]


def _counting(network: NetworkValue) -> float:
    """Seconds that figures take in a step, in all tasks and on the driver: around boxes, as reports, added up, kept."""
    plan = compile_network(network, SHARDS)
    boxes = {
        box.name: Counts(dict.fromkeys(box.inputs, 7), dict.fromkeys(box.outputs, 7), 0.1) for box in network.boxes
    }
    outcome = Outcome(counts=boxes)
    train = Train(pl.DataFrame({"time": [1]}), 1)

    with tempfile.TemporaryDirectory() as folder:
        (own := Path(folder, "arterial")).mkdir()
        figures = RunFigures(plan, own, temporary=False)
        # A step takes a few milliseconds here; the window is to have about as many steps as in a real run.
        figures.statistics.window.length = 0.3

        def one_step(number: int) -> None:
            for _ in range(SHARDS * len(network.boxes)):
                began = time.perf_counter()
                counts = Counts({"in": len(train)}, {"out": len(train)})
                counts.seconds = time.perf_counter() - began
            steered = StepSteering(number, born=time.time())
            tasks = [(level, slot) for level in range(HEAD, len(plan.levels)) for slot in range(SHARDS)]
            reports = [pack_report(report(level, slot, steered, outcome, 0.1)) for level, slot in tasks]
            figures.add_step(plan, [unpack_report(packed)[0] for packed in reports])

        began = time.perf_counter()
        for number in range(1, 1001):
            one_step(number)
        return (time.perf_counter() - began) / 1000
