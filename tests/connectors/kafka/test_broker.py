"""What brokers and networks do to a run, with a real broker: the longer tests, of `make test-kafka`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import arterial as art
from arterial.connectors.source import Ask, Span
from arterial.errors import RunError
from arterial.network.train import END
from tests.connectors.kafka.test_source import ROWS, bound, drained, rows_of, run_of
from tests.connectors.live.senders import NETWORK, network, wait_until
from tests.kafka import Broker

pytestmark = pytest.mark.slow
MANY = [{"time": n // 10, "machine": f"m{n % 7}", "load": n % 11 / 4} for n in range(20_000)]


def sums_in(kafka: Broker, topic: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(json.loads(value).values()) for value in kafka.read(topic))


def test_a_broker_that_is_killed_and_comes_back(kafka: Broker) -> None:
    """The source reads on, and the sink writes each step once."""
    right = art.collect(network(), reports=MANY)
    topic, sums = kafka.topic(3), kafka.topic()
    kafka.send(topic, MANY[:10_000], key="machine")
    run = art.run(network(), reports=kafka.uri(topic, "idle=2"), local=True, sums=kafka.uri(sums))
    assert wait_until(lambda: run.statistics.tuples_in > 5_000)
    kafka.stop(kill=True)
    time.sleep(3)
    kafka.start()
    kafka.send(topic, MANY[10_000:], key="machine")
    for partition in range(3):
        kafka.send(topic, [b"#end"], partition)
    assert run.wait(90)
    assert sums_in(kafka, sums) == sorted(right["sums"].rows())


def test_brokers_that_stay_away_stop_the_run(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    run = art.run(network(), reports=kafka.uri(topic, "wait=3"), local=True)
    assert wait_until(lambda: run.statistics.tuples_in > 50)
    kafka.stop(kill=True)
    try:
        with pytest.raises(RunError, match=r"no broker has answered for 3 s \(wait=…\)\. What came is kept"):
            run.wait(60)
    finally:
        kafka.start()


def test_a_topic_that_grows(kafka: Broker) -> None:
    """Partitions that are added while it runs are taken up from their first message."""
    topic = kafka.topic(1)
    kafka.send(topic, ROWS[:50], 0)
    run = art.run(network(), reports=kafka.uri(topic), local=True)
    assert wait_until(lambda: run.statistics.tuples_in > 40)
    kafka.grow(topic, 3)
    time.sleep(4)  # clients ask for partitions once a second
    for partition in range(3):
        kafka.send(topic, [*ROWS[50 + partition :: 3], b"#end"], partition)
    assert run.wait(60)
    assert sorted(run["all"]["time"].to_list()) == list(range(100))


def test_a_topic_that_is_made_again_while_it_runs(kafka: Broker) -> None:
    """The first messages of the new one lie at offsets that the run has passed; it must not go on without them."""
    topic = kafka.topic(1)
    kafka.send(topic, ROWS[:20])
    run = art.run(network(), reports=kafka.uri(topic), local=True)
    assert wait_until(lambda: run.statistics.tuples_in > 15)
    kafka.delete(topic)
    kafka.topic(1, topic)
    kafka.send(topic, ROWS[20:])
    with pytest.raises(RunError, match=r"deleted and made again.*Begin again with another checkpoint"):
        run.wait(60)


def test_what_retention_deletes_while_it_runs(kafka: Broker, tmp_path: Path) -> None:
    """A run that is paused for too long: its spool is full, and the topic forgets. It says what is lost, and stops."""
    topic = kafka.topic(1, retention_ms="1000", segment_ms="1000", segment_bytes="1048576")
    row = {"time": 0, "machine": "m" * 1000, "load": 0.0}
    kafka.send(topic, [{**row, "time": n} for n in range(5_000)])
    source = bound(kafka.uri(topic, "spool=1000k"), tmp_path)  # it is not asked, as if the run were paused
    assert wait_until(lambda: bool(list(tmp_path.rglob("*.arrow"))))
    until = time.monotonic() + 90
    while time.monotonic() < until:
        kafka.send(topic, [{**row, "time": 10_000 + n} for n in range(2_000)])  # a new segment
        time.sleep(1)
        if first_offset(kafka, topic) > 8_000:
            break
    source.close(ended=False)
    source = bound(kafka.uri(topic), tmp_path)
    with pytest.raises(RunError, match=r"were deleted before the run had read them .* up to [\d,]+ message"):
        drained(source, seconds=60)
    source.close(ended=False)


def first_offset(kafka: Broker, topic: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka.server, "group.id": "tests"})
    low, _ = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    consumer.close()
    return int(low)


def test_partitions_far_out_of_order(kafka: Broker) -> None:
    """A partition is an hour behind the other, and still nothing is late: each has its own progress."""
    topic = kafka.topic(2)
    kafka.send(topic, [{"time": 3600 + n, "machine": "a", "load": 1.0} for n in range(1000)], 0)
    run = art.run(network(), reports=kafka.uri(topic), local=True)
    time.sleep(2)
    assert run.statistics.tuples_in == 0
    kafka.send(topic, [{"time": n, "machine": "b", "load": 1.0} for n in range(4600)], 1)
    for partition in range(2):
        kafka.send(topic, [b"#end"], partition)
    assert run.wait(60)
    assert run["all"].height == 5600
    assert run["all"]["time"].is_sorted()
    assert not run.notices


def test_a_transaction_that_is_given_up_is_not_read(kafka: Broker, tmp_path: Path) -> None:
    from confluent_kafka import Producer

    topic = kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.server, "transactional.id": "other"})
    producer.init_transactions(30)
    for rows, keep in ((ROWS[:50], True), (ROWS[:50], False), (ROWS[50:], True)):
        producer.begin_transaction()
        for row in rows:
            producer.produce(topic, json.dumps(row).encode())
        producer.commit_transaction(30) if keep else producer.abort_transaction(30)
    source = bound(kafka.uri(topic, "end=now"), tmp_path)
    assert rows_of(source, drained(source)) == ROWS
    source.close(ended=True)


def test_a_producer_without_idempotence_can_send_twice_and_a_key_finds_it(kafka: Broker) -> None:
    """What a retry doubles is two messages to every reader; a box drops it."""
    topic = kafka.topic()
    kafka.send(topic, [row for row in ROWS for _ in range(2)])
    net = art.Network("once")
    reports = net.source("reports", {"time": int, "machine": str, "load": float})
    reports.deduplicate("once", "machine", within="1 s").output("all")
    run = art.run(net, reports=kafka.uri(topic, "end=now"), local=True)
    assert run.wait(30)
    assert run["all"].height == 100


def test_kafkas_own_tools_show_the_lag(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    run_of(kafka.uri(topic, "count=60&group=tolls"))
    said = kafka.tool(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--bootstrap-server", kafka.server, "--describe", "--group", "tolls",
    )  # fmt: skip
    (line,) = [line.split() for line in said.stdout.splitlines() if topic in line]
    assert line[2:6] == ["0", "60", "100", "40"]  # partition, offset, end, lag


@pytest.mark.spark
def test_a_run_that_is_killed_in_mid_step_writes_each_tuple_once(kafka: Broker, tmp_path: Path) -> None:
    """From a topic into a topic on Spark, by the command line, killed again and again while messages come."""
    (tmp_path / "net.py").write_text(NETWORK)
    topic, sums, everything = kafka.topic(3), kafka.topic(2), kafka.topic(2)
    done, enough = threading.Event(), threading.Event()

    def produce() -> None:
        for at in range(0, len(MANY), 200):
            kafka.send(topic, MANY[at : at + 200], key="machine")
            enough.wait(0.6 if at < len(MANY) // 2 else 4.0)  # so that messages still come when a machine is slow
        for partition in range(3):
            kafka.send(topic, [b"#end"], partition)
        done.set()

    def start() -> subprocess.Popen[bytes]:
        words = ["run", "net.py:net", "--out", "out", "--shards", "2", "--source", f"reports={kafka.uri(topic)}"]
        words += ["--sink", f"sums={kafka.uri(sums, 'key=machine')}", "--sink", f"all={kafka.uri(everything)}"]
        command = [sys.executable, "-m", "arterial", *words]
        return subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE)

    threading.Thread(target=produce, daemon=True).start()
    chance, kills = random.Random(37), 0
    while not done.is_set() and kills < 4:
        run, before = start(), len(kafka.read(everything, committed=False))

        def moved(before: int = before) -> bool:
            return done.is_set() or len(kafka.read(everything, committed=False)) > before

        assert wait_until(moved, 120)
        time.sleep(chance.uniform(0.0, 2.0))
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        kills += 1
    enough.set()
    run = start()
    assert done.wait(120)
    _, said = run.communicate(timeout=120)
    assert run.returncode == 0, said.decode()
    assert kills >= 2
    right = art.collect(network(), reports=pl.DataFrame(MANY))
    assert sums_in(kafka, everything) == sorted(right["all"].rows())
    assert sums_in(kafka, sums) == sorted(right["sums"].rows())


def test_steps_are_planned_while_the_spool_is_full(kafka: Broker, tmp_path: Path) -> None:
    """Back-pressure: a spool that is full is read, and then the topic is read on."""
    topic = kafka.topic(2)
    rows = [{"time": n // 100, "machine": "m" * 200, "load": 0.0} for n in range(60_000)]
    for partition in range(2):
        kafka.send(topic, [*rows[partition::2], b"#end"], partition)
    source = bound(kafka.uri(topic, "spool=2m"), tmp_path)
    time.sleep(3)
    spooled = sum(path.stat().st_size for path in tmp_path.rglob("*.arrow"))
    assert spooled < 45_000_000  # at most what was fetched at once beyond it
    at, count, until = source.begin(), 0, time.monotonic() + 60
    while at.through != END and time.monotonic() < until:
        after = source.plan(at, Ask(time.time(), 5_000))
        count += len(rows_of(source, [Span(at, after)])) if after != at else 0
        at = after
        time.sleep(0.01)
    assert count == 60_000
    source.close(ended=True)
