"""Whole networks through real Spark, compared with the in-process host."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.memory_source import ArrivingSource, MemorySource
from arterial.connectors.sinks.databases.table import TableSink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.run import Run, Settings, run
from arterial.engine.spark.frames.frame_sink import FrameSink
from arterial.engine.spark.frames.frame_source import FrameSource
from arterial.engine.steering import control
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.train import BEGIN, END, Train
from arterial.storage.appended import AppendedFiles
from tests.engine.tiny import Add, Both, By, Enter, Keep, Leave, Running, arc, chain, numbers, trains
from tests.storage.test_appended import CsvLines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TWO = Settings(shards=2)
COLUMNS = {"time": "int64", "key": "int32", "value": "int64"}

MEETING = NetworkValue(
    "meeting",
    (
        Enter("in"),
        By("a"),
        Running("s"),
        Keep("few", not_of=2),
        By("c"),
        Both("both"),
        By("again", ("value",), again=True),
        Running("last", by="value"),
        Leave("out"),
        Leave("raw"),
    ),
    (
        arc("in", "a"),
        arc("a", "s"),
        arc("in", "few"),
        arc("few", "c"),
        arc("s", "both.left"),
        arc("c", "both.right"),
        arc("both", "again"),
        arc("again", "last"),
        arc("last", "out"),
        arc("few", "raw"),
    ),
)


def _road() -> NetworkValue:
    """Several stateful boxes, two keys, a join, a late port."""
    net = Network("road")
    reports = net.source("reports", COLUMNS, time="time", disorder=3)
    by_key = reports.group_by("key")
    sums = by_key.tumble("sums", every=10, total="sum(value)", n="count(*)")
    sums.output("sums_out")
    high = by_key.filter("high", "value > 90")
    low = by_key.filter("low", "value < 10")
    high.join("pairs", low, within=4).output("pairs_out")
    sums.group_by("n").tumble("per_n", every=20, groups="count(*)").output("per_n_out")
    reports.late.output("late_out")
    return net.value


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return one.sort(one.columns).equals(other.sort(other.columns), null_equal=True)


def _until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    patience = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < patience, "waited in vain"
        time.sleep(0.05)


def test_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    steps = trains(numbers(300), 12)
    expected = InProcess(MEETING).run(steps)
    sinks = {"out": MemorySink(), "raw": FileSink(tmp_path / "raw", merge=True)}
    source = MemorySource([step["in"] for step in steps])
    running = run(MEETING, {"in": source}, sinks, tmp_path / "checkpoint", TWO, spark=spark)
    assert running.wait(300)
    assert running.ended
    assert _same(sinks["out"].read(), expected["out"])
    assert pl.read_parquet(tmp_path / "raw.parquet").equals(expected["raw"])
    said = running.statistics.describe()
    assert said["tuples_in"] == 300
    assert said["boxes"]["few"]["in"] == 300
    assert said["boxes"]["few"]["selectivity"] == pytest.approx(expected["raw"].height / 300, abs=0.001)
    queues = {(a["from"], a["to"]): a["tuples"] for a in said["arcs"]}
    assert queues["in.out", "a.in"] == 300


def test_disorder_a_join_and_late_tuples(spark: SparkSession, tmp_path: Path) -> None:
    tuples = numbers(400)
    mixed = tuples.with_columns(order=(pl.col("time") + (pl.col("value") % 4)), n=pl.int_range(400)).sort("order", "n")
    mixed = mixed.drop("order", "n")
    late = pl.concat([mixed.head(200), mixed.head(3), mixed.slice(200)])
    arrivals = [Train(late.slice(i * 101, 101), BEGIN) for i in range(3)] + [Train(late.slice(303), END)]
    network = _road()
    expected = InProcess(network).run([{"reports": train} for train in arrivals])
    assert expected["late_out"].height >= 3
    assert expected["pairs_out"].height > 5
    sinks = {name: MemorySink() for name in expected}
    running = run(network, {"reports": ArrivingSource(arrivals)}, sinks, tmp_path / "c", TWO, spark=spark)
    assert running.wait(300)
    for name, sink in sinks.items():
        assert _same(sink.read(), expected[name]), name


def test_pause_step_resume_stop_and_go_on(spark: SparkSession, tmp_path: Path) -> None:
    network = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    steps = trains(numbers(120), 3)
    source = MemorySource([step["in"] for step in steps])

    def start() -> tuple[Run, FileSink]:
        sink = FileSink(tmp_path / "out")
        return run(network, {"in": source}, {"out": sink}, tmp_path / "checkpoint", TWO, spark=spark), sink

    (tmp_path / "checkpoint" / "arterial").mkdir(parents=True)
    control.pause(tmp_path / "checkpoint" / "arterial")
    running, _ = start()
    # Long enough for Spark to ask for a first step, which it runs even if it is empty.
    _until(lambda: (tmp_path / "checkpoint" / "spark" / "commits" / "0").exists())
    assert running.statistics.steps == 0
    running.step(2)
    _until(lambda: running.statistics.steps == 2)
    time.sleep(0.5)
    assert running.statistics.steps == 2
    with pytest.raises(RunError, match="another run"):
        start()
    running.stop()
    assert not running.ended

    running, _ = start()
    time.sleep(1.0)
    assert running.statistics.steps == 0
    running.resume()
    assert running.wait(300)
    parts = sorted((tmp_path / "out").glob("part-*"))
    assert {part.name[5:14] for part in parts} == {f"{n:09d}" for n in range(1, len(steps) + 1)}
    assert _same(pl.concat([pl.read_parquet(part) for part in parts]), InProcess(network).run(steps)["out"])

    running, _ = start()
    assert running.wait(60)
    assert running.ended
    assert running.statistics.steps == 0


def test_another_version_takes_over_between_two_trains(spark: SparkSession, tmp_path: Path) -> None:
    first = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    second = NetworkValue(
        "chain",
        (*first.boxes, Keep("keep", not_of=2), Leave("few")),
        (*first.arcs, arc("sum", "keep"), arc("keep", "few")),
    )
    steps = trains(numbers(120), 3)
    source = MemorySource([step["in"] for step in steps])
    out, few = FileSink(tmp_path / "out"), FileSink(tmp_path / "few")

    def start(network: NetworkValue, sinks: dict[str, FileSink]) -> Run:
        return run(network, {"in": source}, sinks, tmp_path / "c", TWO, spark=spark)

    (tmp_path / "c" / "arterial").mkdir(parents=True)
    control.pause(tmp_path / "c" / "arterial")
    running = start(first, {"out": out})
    running.step(3)
    _until(lambda: running.statistics.steps == 3)
    with pytest.raises(RunError, match="box 'sum': it keeps state and is changed"):
        running.replace(chain(Enter("in"), By("by"), Running("sum", by="value"), Leave("out")))
    with pytest.raises(RunError, match="needs 2 shuffles"):
        running.replace(
            chain(
                Enter("in"), By("by"), Running("sum"), By("again", ("value",)), Running("s", by="value"), Leave("out")
            )
        )
    assert running.replace(second, {"few": few}) == 2
    running.step(1)
    _until(lambda: running.statistics.steps == 4)
    running.stop()
    with pytest.raises(RunError, match="another network: new: more"):
        start(chain(Enter("in"), By("by"), Running("sum"), Add("more"), Leave("out")), {"out": out})
    running = start(second, {"out": out, "few": few})  # the network that runs
    running.step(1)
    _until(lambda: running.statistics.steps == 1)
    running.stop()
    running = start(first, {"out": out})  # the one that was declared; the run goes on with the other
    assert running.version == 2
    running.resume()
    assert running.wait(300)
    expected = InProcess(first).run(steps)["out"]
    assert _same(running["out"], expected)
    late = expected.filter(pl.col("time") >= 9)
    assert _same(running["few"], late.filter(pl.col("value") % 2 != 0))


def test_a_file_that_grows_with_every_step(spark: SparkSession, tmp_path: Path) -> None:
    """Appended by the driver, each line once, also across a stop; what is not committed is cut off."""
    network = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    steps, out = trains(numbers(60), 2), tmp_path / "out.csv"

    def start() -> Run:
        source = {"in": MemorySource([step["in"] for step in steps])}
        return run(network, source, {"out": CsvLines(AppendedFiles({"0": out}))}, tmp_path / "c", TWO, spark=spark)

    (tmp_path / "c" / "arterial").mkdir(parents=True)
    control.pause(tmp_path / "c" / "arterial")
    running = start()
    running.step(3)
    _until(lambda: running.statistics.steps == 3)
    running.stop()
    before = out.read_bytes()
    assert before
    with out.open("ab") as file:
        file.write(b"half of a st")
    running = start()
    running.resume()
    assert running.wait(300)
    assert out.read_bytes().startswith(before)
    expected = InProcess(network).run(steps)["out"]
    assert _same(pl.read_csv(out, has_header=False, schema=expected.schema), expected)


def test_a_poisoned_tuple_stops_the_run_or_is_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    network = chain(Enter("in"), By("by"), Running("bad", poison=93), Leave("out"), name="road")
    tuples = numbers(60)
    steps = trains(tuples, 4)
    source = MemorySource([step["in"] for step in steps])
    sink = MemorySink()
    running = run(network, {"in": source}, {"out": sink}, tmp_path / "c", TWO, spark=spark)
    with pytest.raises(RunError, match=r"'road', box 'bad'.*\"value\": 93.*93 is poison") as failure:
        running.wait(300)
    assert "Traceback" not in str(failure.value)
    aside = Settings(shards=2, policy=SET_ASIDE)
    running = run(network, {"in": source}, {"out": sink}, tmp_path / "c", aside, spark=spark)
    assert running.wait(300)
    clean = tuples.filter(pl.col("value") != 93)
    healthy = chain(Enter("in"), By("by"), Running("bad"), Leave("out"))
    assert _same(sink.read(), InProcess(healthy).run(trains(clean, 100))["out"])
    lines = [line for part in (tmp_path / "c/arterial/rejects").glob("*") for line in part.read_text().splitlines()]
    assert [json.loads(line)["tuple"]["value"] for line in lines] == [93]
    assert running.statistics.rejects == 1


def test_frames_of_spark_in_and_out(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    tuples = numbers(200)
    for n in range(2):
        part = tmp_path / "in" / f"{n}.parquet"
        tuples.slice(100 * n, 100).write_parquet(part)
        os.utime(part, (n, n))
    reader = spark.readStream.schema("time bigint, key int, value bigint").option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(tmp_path / "in"))
    taken: dict[int, list[tuple[int, int, int]]] = {}

    def take(rows: DataFrame, step: int) -> None:
        taken[step] = [tuple(row) for row in rows.collect()]

    net = Network("frames")
    net.source("reports", COLUMNS, disorder=1000).filter("some", "value < 50").output("out")
    settings = Settings(shards=2, only_available=True)
    running = run(
        net.value, {"reports": FrameSource(frame)}, {"out": FrameSink(take)}, tmp_path / "c", settings, spark=spark
    )
    with pytest.raises(RunError, match="takes no commands"):
        running.pause()
    with pytest.raises(RunError, match="takes no commands"):  # as `arterial control` does from another process
        control.pause(tmp_path / "c" / FOLDER)
    assert running.wait(300)
    assert list(taken.values()) == [[], []]
    net = Network("frames")
    net.source("reports", COLUMNS, disorder=0).filter("some", "value < 50").output("out")
    sinks = {"out": FrameSink(take)}
    running = run(net.value, {"reports": FrameSource(frame)}, sinks, tmp_path / "d", settings, spark=spark)
    assert running.wait(300)
    expected = tuples.filter((pl.col("value") < 50) & (pl.col("time") < pl.col("time").max()))
    assert sorted(taken[0] + taken[1]) == sorted(expected.rows())


def test_a_connection_point_keeps_what_it_should(spark: SparkSession, tmp_path: Path) -> None:
    net = Network("kept")
    reports = net.source("reports", COLUMNS)
    reports.connection_point("point", retention=10, storage_key=["key"]).filter("some", "value < 50").output("out")
    tuples = numbers(200)
    steps = [step["in"] for step in trains(tuples, 5)]
    running = run(net.value, {"reports": MemorySource(steps)}, {}, tmp_path / "c", TWO, spark=spark)
    assert running.wait(300)
    kept = (
        TableSink(tmp_path / "c" / "points" / "point", 10)
        .bind("point", net.value.streams[reports.port], tmp_path)
        .read()
    )
    # The last train but one completed second 34; what is older may still be there if it shares a file with younger.
    assert 20 <= int(kept["time"].min()) <= 24
    assert _same(kept.filter(pl.col("time") >= 24), tuples.filter(pl.col("time") >= 24))


def test_a_checkpoint_refuses_what_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    network = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    source = MemorySource([Train(numbers(10), END)])
    assert run(network, {"in": source}, {}, tmp_path / "c", TWO, spark=spark).wait(300)
    with pytest.raises(RunError, match=r"shards cannot change: box 'sum'.*a form of its own"):
        run(network, {"in": source}, {}, tmp_path / "c", Settings(shards=3), spark=spark)
    other = chain(Enter("in"), By("by"), Running("sum", by="value"), Add("new"), Leave("out"))
    with pytest.raises(RunError, match=r"another network: new: new; changed: out, sum.*new folder as checkpoint"):
        run(other, {"in": source}, {}, tmp_path / "c", TWO, spark=spark)


def test_refusals_before_anything_starts(tmp_path: Path) -> None:
    network = chain(Enter("in"), Leave("out"))
    source = MemorySource([Train(numbers(10), END)])
    for sources, sinks, settings, said in (
        ({}, {}, TWO, "nothing stands behind the source in"),
        ({"in": source, "too": source}, {}, TWO, "has no source too; it has: in"),
        ({"in": source}, {"too": MemorySink()}, TWO, "has no output too; it has: out"),
        ({"in": source}, {}, Settings(policy="hope"), "the policy is 'hope'"),
        ({"in": source}, {}, Settings(train_size=0), "train size is 0"),
    ):
        with pytest.raises(RunError, match=said):
            run(network, sources, sinks, tmp_path / "c", settings)
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot keep a checkpoint"):
        run(network, {"in": source}, {}, tmp_path / "file" / "c", TWO)


def test_a_file_source_as_fast_as_possible(spark: SparkSession, tmp_path: Path) -> None:
    network = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    numbers(500).write_parquet(tmp_path / "in.parquet")
    sink = MemorySink()
    settings = Settings(shards=2, train_size=200)
    running = run(
        network, {"in": FileSource(tmp_path / "in.parquet")}, {"out": sink}, tmp_path / "c", settings, spark=spark
    )
    assert running.wait(300)
    assert running.statistics.steps == 3
    assert _same(sink.read(), InProcess(network).run(trains(numbers(500), 1000))["out"])


def test_a_run_that_was_killed_while_it_logged_its_first_step_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    network = chain(Enter("in"), By("by"), Running("sum"), Leave("out"))
    source = MemorySource([step["in"] for step in trains(numbers(50), 50)])
    assert run(network, {"in": source}, {}, tmp_path / "c", TWO, spark=spark).wait(300)
    shutil.rmtree(tmp_path / "c" / "spark")
    (tmp_path / "c" / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "c" / "spark" / "offsets" / ".0.5e0b8a52-7d6c-4c5e-9a36-1f2e3d4c5b6a.tmp").write_text("v1")
    running = run(network, {"in": source}, {}, tmp_path / "c", TWO, spark=spark)
    assert running.wait(300)
    assert running.statistics.steps == 1
