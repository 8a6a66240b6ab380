"""Topics of a real broker as sources and outputs, in this process: the same answers as from a file."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import arterial as art
from arterial.connectors.kafka.source import KafkaSource
from arterial.connectors.sink import Delivery
from arterial.connectors.source import Ask, Part, Progress, Span
from arterial.connectors.uri import sink_from
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.keys.slots import split
from arterial.network.schema import Schema
from arterial.network.train import END, Train
from tests.connectors.live.senders import network
from tests.kafka import PASSWORD, USER, Broker

SCHEMA = Schema.of({"time": "int64", "machine": "string", "load": "float64"})
ROWS = [{"time": second, "machine": f"m{second % 7}", "load": second / 4} for second in range(100)]


@pytest.fixture(scope="module")
def right() -> dict[str, pl.DataFrame]:
    return art.collect(network(), reports=ROWS)


def same(run: Any, right: dict[str, pl.DataFrame]) -> None:
    for name in ("sums", "all"):
        assert sorted(run[name].rows()) == sorted(right[name].rows())


def run_of(uri: str, **more: Any) -> Any:
    run = art.run(network(), reports=uri, local=True, **more)
    assert run.wait(30)
    return run


def bound(uri: str, folder: Path, disorder: int = 0) -> KafkaSource:
    """A source as the engine has it, after a start."""
    source = KafkaSource.from_text(uri).allow(disorder, signed=False).bind("reports", SCHEMA, "time", folder)
    source.start()
    return source


def drained(source: KafkaSource, begin: Progress | None = None, *, seconds: float = 20.0) -> list[Span]:
    """The steps to its end."""
    at, spans, until = begin or source.begin(), [], time.monotonic() + seconds
    while at.through != END and time.monotonic() < until:
        after = source.plan(at, Ask(time.time(), 1000))
        if after != at:
            spans.append(Span(at, after))
            at = after
        else:
            time.sleep(0.02)
    assert at.through == END
    return spans


def rows_of(source: KafkaSource, spans: list[Span]) -> list[dict[str, Any]]:
    return [row for span in spans for train in source.read_trains(span, Part(0, 1)) for row in train.tuples.to_dicts()]


def test_what_is_there_now(kafka: Broker, right: dict[str, pl.DataFrame]) -> None:
    """Three partitions, filled one after the other, are merged in event time; one of them is empty."""
    topic = kafka.topic(4)
    for partition in range(3):
        kafka.send(topic, ROWS[partition::3], partition)
    same(run_of(kafka.uri(topic, "end=now")), right)
    assert sum(kafka.group_offsets(f"arterial-{topic}", topic, 3)) == len(ROWS)


def test_csv_ends_with_a_marker_in_each_partition(kafka: Broker, right: dict[str, pl.DataFrame]) -> None:
    topic = kafka.topic(2)
    for partition in range(2):
        lines = [f"{row['machine']},{row['load']},{row['time']}".encode() for row in ROWS[partition::2]]
        kafka.send(topic, [*lines, b"#end", b"what follows is not read"], partition)
    same(run_of(kafka.uri(topic, "format=csv&columns=machine,load,time")), right)


def test_arrow(kafka: Broker, right: dict[str, pl.DataFrame]) -> None:
    topic = kafka.topic()
    table = pl.DataFrame(ROWS).to_arrow()
    kafka.send(topic, [arrow(table.slice(at, 30)) for at in range(0, 100, 30)])
    same(run_of(kafka.uri(topic, "format=arrow&count=4")), right)


def test_until(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    run = run_of(kafka.uri(topic, "until=50"))
    assert run["all"]["time"].max() == 49


def test_begin(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    assert run_of(kafka.uri(topic, "begin=now&end=now"))["all"].height == 0
    assert run_of(kafka.uri(topic, "begin=2020-01-01T00:00Z&end=now"))["all"].height == 100


def test_poisoned_messages_are_set_aside(kafka: Broker, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    avro = b"\0" + (7).to_bytes(4, "big") + b"\x02\x06abc"
    json_schema = b"\0" + (8).to_bytes(4, "big") + json.dumps(ROWS[0]).encode()
    pretty = json.dumps(ROWS[1], indent=2).encode()
    bad = [avro, None, b"", b"{", b"[1]", json.dumps({**ROWS[2], "load": "x"}).encode(), b"\xff\xfe"]
    kafka.send(topic, [*bad, json_schema, pretty], 1)
    kafka.send(topic, ROWS[2:], 0)
    source = bound(kafka.uri(topic, "end=now"), tmp_path)
    assert rows_of(source, drained(source)) == ROWS
    source.close(ended=False)
    (kept,) = tmp_path.rglob("rejects.jsonl")
    found = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [(one["topic"], one["partition"], one["offset"]) for one in found] == [(topic, 1, n) for n in range(7)]
    assert "schema 7" in found[0]["reason"]
    assert "Avro" in found[0]["reason"]
    assert "tombstone" in found[1]["reason"]
    assert found[5]["reason"] == "load is 'x', expected float64"
    assert any("7 of 107 messages were set aside" in notice for notice in source.notices)


def test_another_format_stops_the_run(kafka: Broker) -> None:
    topic = kafka.topic()
    kafka.send(topic, [b"\0\0\0\0\7abc"] * 150)
    with pytest.raises(RunError, match=r"none of the first 150 messages fits: has Confluent's registry format"):
        run_of(kafka.uri(topic, "end=now"))


def test_no_topic_and_no_broker(kafka: Broker) -> None:
    with pytest.raises(RunError, match=r"there is no such topic\. Create it \(kafka-topics"):
        run_of(kafka.uri("nothing-here"))


def test_into_a_topic_and_out_of_it(kafka: Broker, right: dict[str, pl.DataFrame]) -> None:
    topic, sums, all_of_it = (kafka.topic(2) for _ in range(3))
    kafka.send(topic, ROWS, key="machine")
    run_of(
        kafka.uri(topic, "end=now"),
        sums=kafka.uri(sums, "key=machine"),
        all=kafka.uri(all_of_it, "format=arrow"),
    )
    found = [(m.key(), json.loads(m.value())) for m in kafka.messages(sums)]
    assert sorted(tuple(value.values()) for _, value in found) == sorted(right["sums"].rows())
    assert all(key.decode() == value["machine"] for key, value in found)
    tables = [pa.ipc.open_stream(value).read_all() for value in kafka.read(all_of_it)]
    assert sum(table.num_rows for table in tables) == 100


def test_a_message_that_is_too_large(kafka: Broker) -> None:
    """The client knows its own bound, and the broker has another one."""
    net = art.Network("large")
    net.source("rows", {"time": int, "text": str}, time="time").output("out")
    for options in ("", "message_max_bytes=5000000"):
        uri = kafka.uri(kafka.topic(), options)
        run = art.run(net, rows=[{"time": 1, "text": "x" * 2_000_000}], out=uri, local=True)
        with pytest.raises(RunError, match=r"too large.*allow it \(message_max_bytes=N in the URI, and max\.message"):
            run.wait(30)


def test_a_password_is_read_from_a_file_or_the_environment(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD}\n")
    monkeypatch.setenv("KAFKA_SECRET", PASSWORD)
    asked = f"security_protocol=SASL_PLAINTEXT&sasl_mechanism=PLAIN&sasl_username={USER}"
    server = f"kafka://127.0.0.1:{kafka.sasl_port}/{topic}"
    out = kafka.topic()
    for way in (f"file={secret}", "env=KAFKA_SECRET"):
        uri, folder = f"{server}?{asked}&sasl_password_{way}", tmp_path / way[:3]
        source = bound(f"{uri}&end=now", folder)
        assert rows_of(source, drained(source)) == ROWS
        assert PASSWORD.encode() not in pickle.dumps(source)
        source.close(ended=False)
        sink = sink_from(uri.replace(topic, out), "out", folder).bind("out", Stream(SCHEMA, "time"), folder)
        assert PASSWORD.encode() not in pickle.dumps(sink)
        sink.write(Delivery("out", 1, 0, Train(pl.DataFrame(ROWS, schema=SCHEMA.polars()), 1)))
        sink.commit(1)
    assert len(kafka.read(out)) == 200
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong-" + PASSWORD)
    with pytest.raises(RunError, match="Authentication failed") as caught:
        run_of(f"{server}?{asked}&sasl_password_file={wrong}")
    said = capfd.readouterr()
    for text in (str(caught.value), said.out, said.err):
        assert PASSWORD not in text
    for path in tmp_path.rglob("*"):
        if path.is_file() and path not in (secret, wrong):
            assert PASSWORD.encode() not in path.read_bytes()


def test_tls_with_certificates_of_both_sides(kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, out = kafka.topic(), kafka.topic()
    kafka.send(topic, ROWS)
    monkeypatch.setenv("KAFKA_SECRET", PASSWORD)
    asked = f"security_protocol=SASL_SSL&sasl_mechanism=PLAIN&sasl_username={USER}&sasl_password_env=KAFKA_SECRET"
    shown = f"ssl_certificate_location={kafka.client_certificate}&ssl_key_location={kafka.client_key}"
    trusted = f"ssl_ca_location={kafka.server_certificate}&{shown}&ssl_key_password_env=KAFKA_SECRET"
    server = f"kafka://127.0.0.1:{kafka.tls_port}"
    source = bound(f"{server}/{topic}?{asked}&{trusted}&end=now", tmp_path)
    assert rows_of(source, drained(source)) == ROWS
    source.close(ended=False)
    sink = sink_from(f"{server}/{out}?{asked}&{trusted}", "out", tmp_path).bind("out", Stream(SCHEMA, "time"), tmp_path)
    sink.write(Delivery("out", 1, 0, Train(pl.DataFrame(ROWS, schema=SCHEMA.polars()), 1)))
    sink.commit(1)
    assert len(kafka.read(out)) == len(ROWS)
    with pytest.raises(RunError, match=r"certificate verify failed|unknown ca"):
        run_of(f"{server}/{topic}?{asked}&{shown}&ssl_key_password_env=KAFKA_SECRET")


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_a_start_goes_on_where_the_offsets_are(kafka: Broker, tmp_path: Path) -> None:
    """Killed at any time: what was planned is read again from the spool, the rest once from the topic."""
    topic = kafka.topic(2)
    found, at = [], None
    for begin in range(0, 100, 25):
        for partition in range(2):
            kafka.send(topic, ROWS[begin + partition : begin + 25 : 2], partition)
        if begin == 75:
            kafka.send(topic, [b"#end"], 0)
            kafka.send(topic, [b"#end"], 1)
        source = bound(kafka.uri(topic), tmp_path)
        at = at or source.begin()
        if begin == 75:
            found += rows_of(source, drained(source, at))
            source.close(ended=True)
            break
        until = time.monotonic() + 20
        while at.through < begin + 20 and time.monotonic() < until:
            after = source.plan(at, Ask(time.time(), 10))
            found += rows_of(source, [Span(at, after)]) if after != at else []
            at = after
            time.sleep(0.01)
        again = rows_of(source, [Span(source.begin(), at)]) if begin == 0 else found
        assert again == found
        source._receivers[0].stop(ended=False)  # what it has not spooled is forgotten, as after a kill
    assert found == ROWS
    assert sum(kafka.group_offsets(f"arterial-{topic}", topic, 2)) == len(ROWS) + 2


def test_slots_are_read_apart(kafka: Broker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS)
    source = bound(kafka.uri(topic, "end=now"), tmp_path)
    spans = drained(source)
    parts = [source.read(spans[0].before, spans[-1].after, Part(slot, 3, ("machine",))) for slot in range(3)]
    assert [split(pl.DataFrame(ROWS, schema=SCHEMA.polars()), ("machine",), 3)[slot].rows() for slot in range(3)] == [
        part.rows() for part in parts
    ]
    source.close(ended=False)


def test_what_retention_deleted_is_an_error_that_says_what_is_lost(kafka: Broker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS[:20])
    source = bound(kafka.uri(topic), tmp_path)
    at = source.begin()
    until = time.monotonic() + 20
    while at.through < 18 and time.monotonic() < until:
        at = source.plan(at, Ask(time.time(), 1000))
    source.close(ended=False)
    kafka.send(topic, ROWS[20:])
    kafka.delete_before(topic, 0, 50)
    source = bound(kafka.uri(topic), tmp_path)
    with pytest.raises(RunError, match=r"partition 0: the offsets 20 to 49 were deleted .* up to 30 message"):
        drained(source, at)
    source.close(ended=False)
    source = bound(kafka.uri(topic, "lost=skip&count=70"), tmp_path)
    assert [row["time"] for row in rows_of(source, drained(source, at))] == [19, *range(50, 100)]
    assert any("up to 30 message(s) were deleted" in notice for notice in source.notices)
    source.close(ended=True)


def test_a_topic_that_was_made_again_is_refused(kafka: Broker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, ROWS[:20])
    source = bound(kafka.uri(topic), tmp_path)
    until = time.monotonic() + 20
    while source.plan(source.begin(), Ask(time.time(), 1000)).through < 18 and time.monotonic() < until:
        time.sleep(0.02)
    source.close(ended=False)
    kafka.delete(topic)
    time.sleep(0.5)
    kafka.topic(name=topic)
    kafka.send(topic, ROWS)
    source = bound(kafka.uri(topic), tmp_path)
    with pytest.raises(RunError, match="the topic was deleted and made again"):
        drained(source, Progress({"file": 10**6}, 18))
    source.close(ended=False)
