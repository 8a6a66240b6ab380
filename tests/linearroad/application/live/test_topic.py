"""Lines through a topic of a real broker: every event is spooled once, in whole seconds, whatever is stopped."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from arterial.connectors.pace import Pace
from arterial.errors import DataError
from arterial.linearroad.application.live.spool import read_spool
from arterial.linearroad.application.live.topic import TopicInput
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.drive.driver import drive, target_of
from arterial.linearroad.formats.line_writer import event_lines
from tests.kafka import Broker
from tests.linearroad.cities import generate

CITY = generate(3)


def deliver(place: str, file: Path, begin: int, until: int, *, end: bool) -> None:
    data = open_data(file)
    target = target_of(place, lambda said: None, "#end" if end else None)
    drive(data, target, speed=math.inf, begin=begin, until=until, replication=Replication.of(data, 1))


def started(uri: str, work: Path) -> tuple[TopicInput, threading.Thread]:
    place: dict[str, Any] = {
        "work": work,
        "rejects": work / "rejects.csv",
        "begin": 0,
        "until": None,
        "times": 1,
        "disorder": 0,
    }
    given = TopicInput(uri, **place)
    given._pace = Pace(0, math.inf)
    thread = threading.Thread(target=given._receive, daemon=True)
    thread.start()
    return given, thread


@pytest.mark.thorough
def test_the_driver_through_a_topic_that_is_read_in_two_starts(kafka: Broker, tmp_path: Path) -> None:
    file, events = tmp_path / "events.csv", CITY.table()
    file.write_bytes(b"".join(event_lines(events)))
    last = int(events["time"].to_numpy().max()) + 1
    topic = kafka.topic(3)
    deliver(kafka.uri(topic), file, 0, last // 2, end=False)
    given, thread = started(kafka.uri(topic), tmp_path / "work")
    until = time.monotonic() + 30
    while given.spool.until < last // 2 and time.monotonic() < until:
        time.sleep(0.02)
    assert given.spool.until == last // 2  # without a wait for the partitions that have nothing
    given.stop()
    thread.join(30)
    with pytest.raises(DataError, match="has messages; the driver writes into a new or empty topic"):
        deliver(kafka.uri(topic), file, last // 2, last, end=True)
    deliver(kafka.uri(topic, "append"), file, last // 2, last, end=True)
    given, thread = started(kafka.uri(topic), tmp_path / "work")
    thread.join(30)
    assert given.spool.ended
    found = read_spool(given.spool.folder, 0, given.spool.until)
    assert found.num_rows == events.num_rows
    assert sorted(map(tuple, found.to_pandas().to_numpy().tolist())) == sorted(
        map(tuple, events.to_pandas().to_numpy().tolist())
    )
    assert given.figures()["rejected"] == {}
