"""Topics of a real broker as sources and outputs of runs on Spark."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import arterial as art
from arterial.connectors.sinks.files.parts import FileSink
from arterial.linearroad.application.run import LinearRoadRun, RunOptions
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.drive.driver import drive, target_of
from arterial.linearroad.formats.dialects import dialect, parse
from arterial.linearroad.formats.line_writer import event_lines
from arterial.linearroad.reference import answer
from arterial.linearroad.semantics.profiles import profile
from tests.connectors.live.senders import network, wait_until
from tests.kafka import Broker
from tests.linearroad.cities import generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [{"time": second, "machine": f"m{second % 7}", "load": second / 4} for second in range(200)]


def test_from_a_topic_into_a_topic(spark: SparkSession, kafka: Broker, tmp_path: Path) -> None:
    """A run that is stopped, while messages go on to come, and then taken up again."""
    right = art.collect(network(), reports=ROWS)
    topic, sums = kafka.topic(3), kafka.topic(2)
    where: dict[str, Any] = {"checkpoint": tmp_path / "c", "spark": spark, "sums": kafka.uri(sums, "key=machine")}
    kafka.send(topic, ROWS[:100], key="machine")
    run = art.run(network(), reports=kafka.uri(topic, "idle=1&group=mine"), **where)
    assert wait_until(lambda: run.statistics.tuples_in > 80)
    run.stop()
    kafka.send(topic, ROWS[100:], key="machine")
    run = art.run(network(), reports=kafka.uri(topic, "end=now&group=mine"), **where)
    assert run.wait(120)
    assert sorted(tuple(json.loads(one).values()) for one in kafka.read(sums)) == sorted(right["sums"].rows())
    assert sum(kafka.group_offsets("mine", topic, 3)) == len(ROWS)


def steered(*, high: bool) -> art.Network:
    net = art.Network("steered")
    kept = net.source("reports", {"time": int, "machine": str, "load": float}).connection_point("kept", "1 hour")
    kept.filter("some", "time >= 0").output("out")
    if high:
        kept.filter("high", "25 <= load").output("high_out")
    return net


@pytest.mark.thorough
def test_a_run_of_a_topic_is_steered(spark: SparkSession, kafka: Broker, tmp_path: Path) -> None:
    """Paused, stepped, shed, replaced and attached to, as one of files is: nothing that the topic has is missed."""
    topic, out, high = kafka.topic(), tmp_path / "out", tmp_path / "high"
    kafka.send(topic, ROWS[:100], key="machine")
    run = art.run(
        steered(high=False),
        reports=kafka.uri(topic, "idle=1"),
        checkpoint=tmp_path / "c",
        spark=spark,
        out=f"{out}/",
    )
    assert wait_until(lambda: run.statistics.tuples_in > 80)
    run.pause()
    assert wait_until(lambda: run.status.state == "paused")
    read = run.statistics.tuples_in
    run.shed("kept → some", 1.0)
    kafka.send(topic, ROWS[100:150], key="machine")
    time.sleep(1.5)
    assert run.statistics.tuples_in == read
    run.step()
    assert wait_until(lambda: run.statistics.tuples_in > read)
    assert run.status.state == "paused"
    run.shed("kept → some")
    assert run.replace(steered(high=True).value, {"high_out": FileSink(high)}) == 2
    run.resume()
    kafka.send(topic, [*ROWS[150:], b"#end"])
    assert run.wait(120)
    (kept,) = run.attach("kept").collect().values()
    assert sorted(kept.rows()) == sorted(tuple(row.values()) for row in ROWS)
    shed = sum(run.status.shed.values())
    assert 0 < shed == len(ROWS) - pl.read_parquet(f"{out}/part-*.parquet").height
    late = pl.read_parquet(f"{high}/part-*.parquet").filter(pl.col("time") >= 150)
    assert sorted(late.rows()) == sorted(tuple(row.values()) for row in ROWS[150:])


def test_linear_road_through_a_topic(spark: SparkSession, kafka: Broker, tmp_path: Path) -> None:
    city = generate(3)
    file = tmp_path / "events.csv"
    file.write_bytes(b"".join(event_lines(city.table())))
    data, topic = open_data(file), kafka.topic(3)
    target = target_of(kafka.uri(topic), lambda said: None)
    once = Replication.of(data, 1)
    driver = threading.Thread(
        target=drive,
        args=(data, target),
        kwargs={"speed": math.inf, "begin": 0, "until": data.last_second + 1, "replication": once},
    )
    driver.start()
    run = LinearRoadRun(RunOptions(kafka.uri(topic), tmp_path / "out", speed=math.inf, shards=2), spark=spark)
    assert run.wait(120)
    figures = run.finish()
    driver.join()
    tables = parse((tmp_path / "out" / "output.csv").read_bytes(), dialect("paper")).answers.tables()
    rows = [sorted(tuple(row.values()) for row in table.drop(["emit"]).to_pylist()) for _, table in tables]
    assert rows == [sorted(one) for one in astuple(answer(city.table(), (), (), profile("spec")))]
    assert figures["rejected"] == {}
    assert figures["reports"] + figures["requests"] == city.table().num_rows
