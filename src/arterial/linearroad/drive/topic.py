"""A topic of Kafka that the driver delivers to: a line a message, by expressway."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from arterial.connectors.kafka.cluster import Cluster
from arterial.connectors.kafka.partitions import THROUGH
from arterial.connectors.live.ending import MARKER
from arterial.connectors.live.spooled import number_of
from arterial.errors import DataError, RunError

_TYPE, _VEHICLE, _XWAY = 0, 2, 4
_REPORT = b"0"
_WAIT_SECONDS = 60.0


class TopicTarget:
    """A topic; reports are keyed by their expressway, requests by their vehicle.

    After each second every partition gets a message `#through SECOND`, so that nobody needs to wait for one that is
    idle; in the end each gets the message `end`. `create=N` makes the topic with N partitions; one with messages is
    refused unless `append` is given.
    """

    def __init__(self, uri: str, announce: Callable[[str], None], end: str | None = MARKER) -> None:
        self.cluster, given = Cluster.from_uri(uri, ("create", "append"))
        self.announce, self.end = announce, end
        if create := given.get("create"):
            self.cluster.create(number_of(create, "create", self.cluster.place))
        self._producer: Any = self.cluster.producer(
            **{"enable.idempotence": True, "linger.ms": 5, "queue.buffering.max.messages": 2_000_000,
               "partitioner": "murmur2_random"}
        )  # fmt: skip
        with closing(self.cluster.consumer(**{"group.id": "arterial-drive"})) as consumer:
            self.partitions = list(self.cluster.partitions(consumer))
            if "append" not in given:
                self._check_empty(consumer)
        self._faults: list[Any] = []

    def wait_until_ready(self) -> None:
        """A topic is always ready."""

    def deliver(self, second: int, lines: memoryview) -> None:
        """Send a second, and wait until the brokers have it."""
        for line in bytes(lines).split(b"\n")[:-1]:
            fields = line.split(b",", _XWAY + 1)
            key = fields[_XWAY] if fields[_TYPE] == _REPORT else b"v" + fields[_VEHICLE]
            self._send(line, key=key)
        self._send_to_all(THROUGH + b"%d" % second)
        self._flush(f"in second {second}")

    def close(self) -> None:
        """Say that this is the end, in every partition."""
        if self.end is not None:
            self._send_to_all(self.end.encode())
        self._flush("at the end")

    def _send_to_all(self, value: bytes) -> None:
        for partition in self.partitions:
            self._send(value, partition=partition)

    def _send(self, value: bytes, **where: Any) -> None:
        while True:
            try:
                self._producer.produce(self.cluster.topic, value, on_delivery=self._see, **where)
                return
            except BufferError:
                self._producer.poll(0.05)

    def _see(self, fault: Any, message: Any) -> None:
        if fault is not None:
            self._faults.append(fault)

    def _flush(self, when: str) -> None:
        left = self._producer.flush(_WAIT_SECONDS)
        if left or self._faults:
            said = self.cluster.reason(self._faults[0]) if self._faults else f"no answer for {_WAIT_SECONDS:g} s"
            raise RunError(f"{self.cluster.place}: not delivered {when}: {said}")

    def _check_empty(self, consumer: Any) -> None:
        for partition in self.partitions:
            low, high = self.cluster.offsets(consumer, partition)
            if high > low:
                raise DataError(
                    f"{self.cluster.place}: has messages; the driver writes into a new or empty topic. Give another, "
                    "or say that this is meant: ?append"
                )
