"""The progress of partitions, by a clock of the test's own and without a broker."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arterial.connectors.kafka.messages import MessageReader
from arterial.connectors.kafka.partitions import PartitionSpooler, Rules
from arterial.connectors.live.spool import Reached, Spool, look, note_reached, read_rows
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END

SCHEMA = Schema.of({"t": int})


class Topic:
    """A topic of some partitions, and the spool that it is read into."""

    def __init__(self, folder: Path, partitions: int = 2, **rules: Any) -> None:
        self.folder, self.now = folder, 0.0
        self.spooler = PartitionSpooler(
            Spool(folder / "spool"), folder / "rejects.jsonl", MessageReader(SCHEMA), "t", Rules(**rules),
            topic="x", now=lambda: self.now, disorder=0,
        )  # fmt: skip
        for number in range(partitions):
            self.spooler.add(number, 0, None)

    def send(self, partition: int, times: Sequence[int | bytes]) -> None:
        first = self.spooler.partitions[partition].next
        values = [time if isinstance(time, bytes) else json.dumps({"t": time}).encode() for time in times]
        self.spooler.take(partition, range(first, first + len(values)), values)
        self.tick()

    def end_of(self, partition: int) -> None:
        self.spooler.reach_end(partition, self.spooler.partitions[partition].next)

    def tick(self, seconds: float = 0.11) -> None:
        self.now += seconds
        self.spooler.tick()

    @property
    def through(self) -> int:
        return self.spooler.spool.through

    @property
    def times(self) -> list[int]:
        rows = read_rows(self.folder / "spool", "t", BEGIN, self.through)
        return [] if rows is None else rows["t"].to_pylist()


def test_partitions_are_merged_in_event_time(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.send(0, [1, 3, 5, 7])
    assert topic.through == BEGIN  # the other has not been read
    topic.send(1, [2, 4])
    assert topic.through == 3
    topic.send(1, [6, 8, b"#end"])
    assert topic.through == 6
    topic.send(0, [b"#end"])
    assert (topic.through, topic.times) == (END, [1, 2, 3, 4, 5, 6, 7, 8])


def test_an_idle_partition_does_not_hold_up_the_others(tmp_path: Path) -> None:
    topic = Topic(tmp_path, idle=10.0)
    topic.send(0, [1, 2, 3])
    topic.tick(100)
    assert topic.through == BEGIN  # it was not read to its end, so it is not idle
    topic.end_of(1)
    topic.tick(9)
    assert topic.through == BEGIN
    topic.tick(1)
    assert topic.through == 2
    topic.send(1, [1, 3])
    assert topic.spooler.account["late"] == 1


def test_a_broker_that_is_away_makes_nobody_idle(tmp_path: Path) -> None:
    topic = Topic(tmp_path, idle=10.0, wait=60.0)
    topic.send(0, [1, 2, 3])
    topic.end_of(0)
    topic.end_of(1)
    for _ in range(50):
        topic.spooler.see_brokers({0: True, 1: False})
        topic.tick(1)
    topic.spooler.see_brokers({0: True, 1: True})
    topic.tick(20)
    assert topic.through == BEGIN  # until it is seen to be at its end again
    topic.end_of(1)
    topic.tick(9)
    assert topic.through == BEGIN
    topic.spooler.see_brokers({0: False, 1: False})
    topic.tick(59)
    assert not topic.spooler.done
    topic.tick(1)
    assert "no broker has answered for 60 s" in str(topic.spooler.stopped)


def test_a_sender_may_say_how_far_a_partition_is(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.send(0, [1, 2, b"#through 2"])
    topic.send(1, [b"#through 2"])
    assert topic.through == 2
    topic.send(1, [2, 3])
    assert (topic.times, topic.spooler.account["late"], topic.spooler.account["total"]) == ([1, 2], 1, 4)


def test_offsets_and_rows_are_kept_together(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.send(0, [1, 2, 3])
    topic.send(1, [2, b"{", 3])
    topic.spooler.take(0, [3], [b'{"t": 4}'])  # not spooled, so it is read again
    again = Topic(tmp_path)
    assert [one.next for one in again.spooler.partitions.values()] == [3, 3]
    again.send(0, [4, b"#end"])
    again.send(1, [b"#end"])
    assert again.times == [1, 2, 2, 3, 3, 4]
    assert again.spooler.account["rejected"] == 1


def test_a_new_partition_is_waited_for(tmp_path: Path) -> None:
    topic = Topic(tmp_path, 1)
    topic.send(0, [1, 2, 3])
    assert topic.through == 2
    topic.spooler.add(1, 0, None)
    topic.send(0, [4, 5])
    assert topic.through == 2
    topic.send(1, [4])
    assert topic.through == 3


def test_what_a_sender_says_does_not_count_as_messages(tmp_path: Path) -> None:
    topic = Topic(tmp_path, 1, count=4)
    topic.send(0, [1, b"#through 1", b"#through 1", 2, 3])
    assert (topic.through, topic.spooler.account["total"]) == (2, 3)
    topic.send(0, [b"#through 3", 4, b"#through 9", 5])
    assert (topic.through, topic.times, topic.spooler.account["total"]) == (END, [1, 2, 3, 4], 4)
    assert topic.spooler.partitions[0].next == 8


def test_the_end_is_a_count_a_time_or_an_offset(tmp_path: Path) -> None:
    topic = Topic(tmp_path / "count", 1, count=3)
    topic.send(0, [1, 2, 3, 4])
    assert (topic.times, topic.spooler.partitions[0].next) == ([1, 2, 3], 3)
    topic = Topic(tmp_path / "until", until=3)
    topic.send(0, [1, 2, 3, 4])
    topic.send(1, [1, 5])
    assert (topic.times, topic.through) == ([1, 1, 2], END)
    topic = Topic(tmp_path / "now", 0, end="now")
    topic.spooler.add(0, 0, 2)
    topic.spooler.add(1, 0, 0)
    topic.send(0, [1, 2, 3])
    assert (topic.times, topic.through) == ([1, 2], END)


def test_the_group_gets_what_the_run_has_read(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.send(0, [1, 2, 3])
    topic.send(1, [1, 2])
    assert topic.spooler.offsets_read() is None
    last = look(tmp_path / "spool")[-1]
    note_reached(tmp_path / "spool", "run", Reached(last.number, 1))
    assert topic.spooler.offsets_read() is None  # rows of the first file wait for the other partition
    note_reached(tmp_path / "spool", "run", Reached(last.number, 3))
    assert topic.spooler.offsets_read() == {0: 3, 1: 2}
    assert topic.spooler.offsets_read() is None


def test_no_room_lets_only_the_slowest_go_on(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.send(0, [1, 5, 9])
    topic.send(1, [3])
    assert topic.spooler.wants(0)
    topic.spooler.size = topic.spooler.spool.size - 1
    assert not topic.spooler.wants(1)  # the run reads what is complete first
    note_reached(tmp_path / "spool", "run", Reached(100, topic.through))
    assert (topic.spooler.wants(0), topic.spooler.wants(1)) == (False, True)


def test_what_was_not_asked_for_stays_unread(tmp_path: Path) -> None:
    """The end of a partition is heard together with the messages before it, of which some are too many."""
    topic = Topic(tmp_path, 1, count=3)
    topic.send(0, [1, 2, 3, 4, 5])
    topic.spooler.reach_end(0, 5)
    topic.tick()
    assert (topic.through, topic.times) == (END, [1, 2, 3])
    assert topic.spooler.account["offsets"] == {"0": 3}
