"""The thread of the driver that reads the partitions of a topic, and gives what comes to the spooler.

Partitions are assigned, not shared out by a group: the checkpoint alone says where to read on. The group gets the
offsets that the run has read, so that Kafka's tools show its lag; nothing is ever read from it.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from arterial.connectors.kafka.cluster import ASK_SECONDS, Cluster
from arterial.connectors.kafka.messages import Value
from arterial.connectors.kafka.partitions import NOW, PartitionSpooler
from arterial.errors import ArterialError, RunError

EARLIEST = "earliest"
LOOK_SECONDS = 0.02
REFRESH_SECONDS = 1.0
"""How often new partitions are looked for, and the group gets the offsets."""
MOST_MESSAGES = 50_000
FETCHING = {
    "fetch.wait.max.ms": 50,
    "queued.min.messages": MOST_MESSAGES,
    "queued.max.messages.kbytes": 32_768,
    "fetch.queue.backoff.ms": 20,
}
"""How much librdkafka fetches ahead. By default it would wait for a second whenever it has enough, which the receiver
takes in milliseconds: most of the time nothing would come."""


class Receiver:
    """Reads a topic until its end, or until it is stopped; a lost broker is waited for."""

    def __init__(self, cluster: Cluster, group: str, begin: str | int, spooler: PartitionSpooler) -> None:
        self.cluster, self.begin, self.spooler = cluster, begin, spooler
        self._consumer: Any = cluster.consumer(
            **{
                "group.id": group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "statistics.interval.ms": 500,
                "stats_cb": self._see_statistics,
                **FETCHING,
            }
        )
        self._admin = cluster.administrator()
        self._stopped, self._ended = threading.Event(), False
        self._missing_since: float | None = None
        """Since when the cluster says that there is no such topic. One that comes back may say so for a moment."""
        self._refreshed = self._told = 0.0
        self._waiting: set[int] = set()
        self._back: list[int] = []
        """Partitions whose brokers were away and answer again."""
        self._thread = threading.Thread(target=self._work, name="arterial-kafka", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self, *, ended: bool) -> None:
        """Read no more; what came is spooled."""
        self._ended = ended
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(2 * ASK_SECONDS)

    def _work(self) -> None:
        try:
            self._check_topic()
            self._find_partitions()
            while not self._stopped.is_set():
                if self.spooler.done:
                    self._stopped.wait(LOOK_SECONDS)
                else:
                    self._read_once()
                    self.spooler.tick()
                self._tell_group()
            if not self.spooler.done:
                self.spooler.flush()
        except ArterialError as fault:
            self.spooler.fail(str(fault))
        except Exception as fault:
            self.spooler.fail(
                f"{self.cluster.place}: the input failed: {type(fault).__name__}: {self.cluster.reason(fault)}"
            )
        finally:
            self._close()

    def _read_once(self) -> None:
        if self.spooler._now() - self._refreshed >= REFRESH_SECONDS:
            self._refreshed = self.spooler._now()
            self._find_partitions()
        if self._back:  # begun again, a partition says again when it is at its end
            self._assign([number for number in self._back if not self.spooler.partitions[number].is_over])
            self._back = []
        self._choose_partitions()
        offsets: dict[int, list[int]] = {}
        values: dict[int, list[Value]] = {}
        ends: dict[int, int] = {}
        for message in self._consumer.consume(MOST_MESSAGES, LOOK_SECONDS):
            if message.error() is not None:
                self._see_error(message, ends)
                continue
            number = message.partition()
            if number not in offsets:
                offsets[number], values[number] = [], []
            offsets[number].append(message.offset())
            values[number].append(message.value())
            ends.pop(number, None)
        for number, found in offsets.items():
            self.spooler.take(number, found, values[number])
        for number, offset in ends.items():
            self.spooler.reach_end(number, offset)

    def _see_error(self, message: Any, ends: dict[int, int]) -> None:
        from confluent_kafka import KafkaError

        error, number = message.error(), message.partition()
        if error.code() == KafkaError._PARTITION_EOF:
            ends[number] = message.offset()
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            self._assign([self._checked(number)])
        elif not error.retriable() and error.code() != KafkaError._TRANSPORT:
            raise RunError(f"{self.cluster.place}: {self.cluster.reason(error)}")

    def _check_topic(self, *, wait: float = ASK_SECONDS) -> None:
        """Raise if the topic is another one than the run has read, in this start or an earlier one."""
        account, now = self.spooler.account, self.cluster.identity(self._admin, wait=wait)
        if account["topic"] and now and account["topic"] != now:
            raise RunError(
                f"{self.cluster.place}: the topic was deleted and made again since the run has read it, so its offsets "
                "mean something else. Begin again with another checkpoint"
            )
        account["topic"] = now or account["topic"]

    def _find_partitions(self) -> None:
        """Take up the partitions that are new, also those by which the topic has grown."""
        known = self.spooler.partitions
        try:
            found = self.cluster.partitions(self._consumer, wait=ASK_SECONDS if not known else 2 * REFRESH_SECONDS)
        except RunError as fault:
            if "no such topic" in str(fault):
                self._missing_since = self._missing_since or self.spooler._now()
            is_gone = self._missing_since and self.spooler._now() - self._missing_since >= ASK_SECONDS
            if not known or is_gone:
                raise
            return  # the brokers are away; those that are known are read on when they are back
        self._missing_since = None
        if known:
            self._check_topic(wait=2 * REFRESH_SECONDS)
        is_first = not known and not self.spooler.account["offsets"]
        new = [number for number in found if number not in known]
        for number in new:
            low, high = self.cluster.offsets(self._consumer, number)
            # What a topic has grown by is new to everyone.
            first = self._first(number, low, high) if is_first else low
            self.spooler.add(number, first, high if self.spooler.rules.end == NOW else None)
        self._assign([self._checked(number) for number in new if not known[number].is_over])

    def _first(self, number: int, low: int, high: int) -> int:
        """The offset at which a partition is begun."""
        from confluent_kafka import TopicPartition

        if self.begin == EARLIEST:
            return low
        if self.begin == NOW:
            return high
        asked = TopicPartition(self.cluster.topic, number, int(self.begin))
        found = self._consumer.offsets_for_times([asked], timeout=ASK_SECONDS)[0].offset
        return high if found < 0 else int(found)

    def _checked(self, number: int) -> int:
        """The partition, where it can be read on; raises if what comes next there is gone."""
        partition = self.spooler.partitions[number]
        low, high = self.cluster.offsets(self._consumer, number)
        where = f"{self.cluster.place}, partition {number}"
        if partition.next > high:
            raise RunError(
                f"{where}: the run has read up to offset {partition.next:,}, and the topic ends at {high:,}: it was "
                "deleted and made again, or restored. Begin again with another checkpoint"
            )
        if partition.next < low:
            lost = low - partition.next
            if not self.spooler.rules.skips_lost:
                raise RunError(
                    f"{where}: the offsets {partition.next:,} to {low - 1:,} were deleted before the run had read them "
                    f"(retention): up to {lost:,} message(s) are lost. Keep messages longer (retention.ms, "
                    "retention.bytes), or go on without them: lost=skip"
                )
            self.spooler.pass_over(number, low)
        return number

    def _assign(self, numbers: list[int]) -> None:
        from confluent_kafka import TopicPartition

        if numbers:
            places = [TopicPartition(self.cluster.topic, n, self.spooler.partitions[n].next) for n in numbers]
            assigned = {one.partition for one in self._consumer.assignment()}
            again = [one for one in places if one.partition in assigned]
            if again:
                self._consumer.incremental_unassign(again)
            self._consumer.incremental_assign(places)
            self._waiting -= set(numbers)

    def _choose_partitions(self) -> None:
        """Let those wait for which there is no room."""
        from confluent_kafka import TopicPartition

        waiting = {number for number in self.spooler.partitions if not self.spooler.wants(number)}
        for change, numbers in (
            (self._consumer.pause, waiting - self._waiting), (self._consumer.resume, self._waiting - waiting)
        ):  # fmt: skip
            if numbers:
                change([TopicPartition(self.cluster.topic, number) for number in numbers])
        self._waiting = waiting

    def _see_statistics(self, text: str) -> None:
        """Which brokers answer, by librdkafka's statistics."""
        said = json.loads(text)
        is_up = {one["nodeid"]: one["state"] == "UP" for one in said["brokers"].values() if one["nodeid"] >= 0}
        parts = said["topics"].get(self.cluster.topic, {}).get("partitions", {})
        reachable = {int(number): is_up.get(one["leader"], False) for number, one in parts.items() if int(number) >= 0}
        known = {n: up for n, up in reachable.items() if n in self.spooler.partitions}
        self.spooler.see_brokers(known)
        self._back = [n for n, up in known.items() if up and self.spooler.partitions[n].is_away]

    def _tell_group(self) -> None:
        now = self.spooler._now()
        if now - self._told >= REFRESH_SECONDS:
            self._told = now
            self._commit(self.spooler.offsets_read(), wait=False)

    def _commit(self, offsets: dict[int, int] | None, *, wait: bool) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        if not offsets:
            return
        places = [TopicPartition(self.cluster.topic, number, offset) for number, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=not wait)
        except KafkaException as fault:
            self.cluster._hear(fault.args[0])  # it only informs, so the run goes on

    def _close(self) -> None:
        self._commit(self.spooler.offsets_read(all_of_it=self._ended), wait=True)
        self._consumer.close()
