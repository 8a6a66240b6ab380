"""A topic of a real broker: from the topic to the rows of steps, against a bare loop of the same client and Kafka's own
`kafka-consumer-perf-test`.

ARTERIAL_BENCH_MESSAGES says how many messages are read.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
from tests.kafka import JARS, Broker, find_java

from arterial.connectors.kafka.receiver import FETCHING, MOST_MESSAGES
from arterial.connectors.kafka.source import KafkaSource
from arterial.connectors.sink import Delivery
from arterial.connectors.source import Ask, Part, Span
from arterial.connectors.uri import sink_from
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import END, Train
from benchmarks.figure import Figure

MESSAGES = int(os.environ.get("ARTERIAL_BENCH_MESSAGES", "400000"))
PARTITIONS, ROWS_A_SECOND, ARROW_ROWS, STEPS = 4, 1000, 1000, 20
SCHEMA = Schema.of({"time": int, "vehicle": int, "speed": float})
SHARE = 0.3
"""At least so much of the bare loop's speed, with JSON."""
STEP_SECONDS = 1.0


def measure() -> list[Figure]:
    """Messages a second of each, their ratio, and what a transaction costs."""
    java = find_java()
    if java is None or not JARS.is_dir():
        sys.stderr.write("left out: Kafka's jars are not here (make setup)\n")
        return []
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as folder:
        broker = Broker(java, Path(folder))
        try:
            return _measure(broker, Path(folder))
        finally:
            broker.stop(kill=True)


def _measure(broker: Broker, folder: Path) -> list[Figure]:
    rows = [{"time": n // ROWS_A_SECOND, "vehicle": n % 1000, "speed": n % 90 / 2} for n in range(MESSAGES)]
    lines, tables = broker.topic(PARTITIONS), broker.topic(PARTITIONS)
    frame = pl.DataFrame(rows, schema=SCHEMA.polars())
    for partition in range(PARTITIONS):
        broker.send(lines, (json.dumps(row).encode() for row in rows[partition::PARTITIONS]), partition)
        own = frame.gather_every(PARTITIONS, partition)
        broker.send(tables, (_arrow(some) for some in own.iter_slices(ARROW_ROWS)), partition)
    rows.clear()  # Python's collector would look at all of them while the others are timed
    bare, json_seconds, arrow_seconds = [], [], []
    for turn in range(3):  # by turns, since the machine may have other work
        bare.append(_count(broker, lines))
        json_seconds.append(_read(broker.uri(lines, "end=now"), folder / f"json{turn}"))
        arrow_seconds.append(_read(broker.uri(tables, "end=now&format=arrow"), folder / f"arrow{turn}"))
    ratio = sorted(b / j for b, j in zip(bare, json_seconds, strict=True))[1]
    tool = _tool_rate(broker, lines)
    return [
        Figure(
            "Kafka, a bare loop of the client", MESSAGES / min(bare), "messages/s", remark=f"{PARTITIONS} partitions"
        ),
        Figure(
            "Kafka, JSON to rows of steps", MESSAGES / min(json_seconds), "tuples/s", remark="spooled, merged by time"
        ),
        Figure("Kafka, JSON against the bare loop", ratio, "of its speed", at_least=SHARE, remark="median of 3"),
        Figure("Kafka, its own kafka-consumer-perf-test", tool, "messages/s", remark="Java; without its rebalance"),
        Figure("Kafka, JSON against kafka-consumer-perf-test", MESSAGES / min(json_seconds) / tool, "of its speed"),
        Figure("Kafka, Arrow to rows of steps", MESSAGES / min(arrow_seconds), "tuples/s"),
        Figure("Kafka, a step of 1,000 tuples", _write(broker, frame, folder), "s", at_most=STEP_SECONDS),
    ]


def _count(broker: Broker, topic: str) -> float:
    """Seconds of a loop that only takes messages, with the client's settings as the source has them."""
    from confluent_kafka import Consumer, TopicPartition

    began = time.perf_counter()
    settings = {"bootstrap.servers": broker.server, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, **FETCHING})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    left = MESSAGES
    while left > 0:
        left -= sum(message.error() is None for message in consumer.consume(MOST_MESSAGES, 0.05))
    seconds = time.perf_counter() - began
    consumer.close()
    return seconds


def _tool_rate(broker: Broker, topic: str) -> float:
    """Messages a second by Kafka's own tool, which only takes them too."""
    said = broker.tool(
        "org.apache.kafka.tools.ConsumerPerformance",
        "--bootstrap-server", broker.server, "--topic", topic, "--messages", str(MESSAGES), "--timeout", "60000",
    )  # fmt: skip
    lines = [[word.strip() for word in line.split(",")] for line in said.stdout.splitlines() if "," in line]
    names, values = next((one, two) for one, two in pairwise(lines) if "fetch.nMsg.sec" in one)
    return float(values[names.index("fetch.nMsg.sec")])


def _read(uri: str, folder: Path) -> float:
    """Seconds from the start of a source to the last row of its last step."""
    source = KafkaSource.from_text(uri).bind("in", SCHEMA, "time", folder)
    began, at, rows = time.perf_counter(), source.begin(), 0
    source.start()
    while at.through != END:
        after = source.plan(at, Ask(time.time(), 100_000))
        if after == at:
            time.sleep(0.005)
            continue
        rows += sum(train.tuples.height for train in source.read_trains(Span(at, after), Part(0, 1)))
        at = after
    seconds = time.perf_counter() - began
    assert rows == MESSAGES, (rows, source.notices)
    source.close(ended=True)
    shutil.rmtree(folder)
    return seconds


def _write(broker: Broker, frame: pl.DataFrame, folder: Path) -> float:
    """Seconds of a step, the median."""
    sink = sink_from(broker.uri(broker.topic()), "out", folder).bind("out", Stream(SCHEMA, "time"), folder)
    taken = []
    for step in range(STEPS):
        sink.write(Delivery("out", step, 0, Train(frame.head(1000), step)))
        began = time.perf_counter()
        sink.commit(step)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[STEPS // 2]


def _arrow(rows: pl.DataFrame) -> bytes:
    table: pa.Table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    packed = pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, table.schema) as writer:
        writer.write_table(table)
    return bytes(packed.getvalue())
