"""A topic of Kafka as a sink: the tuples and the number of their step go in by one transaction.

The number is kept as the offset of a consumer group of its own, which a transaction of Kafka can write together with
messages. So a step that is run again is found there, as in the table of steps of a database.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from arterial.connectors.kafka.cluster import Cluster
from arterial.connectors.kafka.messages import ARROW, FORMATS, JSON
from arterial.connectors.live.spooled import number_of
from arterial.connectors.sinks.driver import DriverSink
from arterial.connectors.sinks.files.json_lines import TIME_FORMAT, write_json_lines
from arterial.errors import RunError
from arterial.network.box import Stream

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

OPTIONS = ("format", "key", "transactions", "create")
ATTEMPTS = 6
ANSWER_SECONDS = 20.0
ARROW_BYTES = 500_000
"""About so large is a message with rows of Arrow; brokers take 1 MB by default."""
LARGE = "message_max_bytes=N in the URI, and max.message.bytes of the topic"
"""What bounds a message: the client, and the broker."""
STEP_HEADER = "arterial-step"
_QUEUED = 1_000_000
_LOOK_SECONDS = 0.5


class KafkaSink(DriverSink):
    """Writes an output to a topic, exactly once for readers of committed messages (`isolation.level=read_committed`).

    `format` is json (an object a message), csv (a record a message) or arrow (many tuples a message). `key` are the
    columns whose values are the key of the message; tuples of one key keep their order. With `transactions="off"` a
    step in which the driver was killed may be there twice, each message with a header that says which one it is.
    `create` is the number of partitions that the topic gets if it does not exist.
    """

    def __init__(
        self,
        cluster: Cluster,
        key: Sequence[str] = (),
        format: str = JSON,
        transactions: str = "on",
        create: str = "",
    ) -> None:
        super().__init__()
        if format not in FORMATS:
            raise RunError(f"{cluster.place}: the format is {format!r}; expected one of {', '.join(FORMATS)}")
        if transactions not in ("on", "off"):
            raise RunError(f"{cluster.place}: transactions is {transactions!r}; expected on or off")
        if key and format == ARROW:
            raise RunError(f"{cluster.place}: a message of Arrow holds many tuples, so it has no key; leave out key=")
        self.cluster, self.key, self.format, self.transactional = cluster, tuple(key), format, transactions == "on"
        self.create = number_of(create, "create", cluster.place) if create else 0
        self._producer: Producer | None = None
        self._group: Consumer | None = None
        self._membership: Any = None
        self._lost: list[Any] = []
        """What the producer reported since the step began."""

    def bind(self, output: str, stream: Stream, folder: Path) -> KafkaSink:
        """Check the topic and the key, and read which step is there."""
        super().bind(output, stream, folder)
        if missing := [name for name in self.key if name not in stream.schema]:
            raise RunError(
                f"{self._where}: the key {missing[0]!r} is not a column of the output; its columns: "
                f"{', '.join(stream.schema.names)}"
            )
        if self.create:
            self.cluster.create(self.create)
        self._group = self.cluster.consumer(**{"group.id": self._name, "enable.auto.commit": False})
        self.cluster.partitions(self._group)
        self._membership = self._group.consumer_group_metadata()
        self._try(self._connect)
        return self

    def put(self, step: int, tuples: pl.DataFrame) -> None:
        """Write a step, unless the topic has it."""
        self._try(lambda: self._put_once(step, tuples))
        self.note(step)

    def finish(self) -> None:
        """Nothing more will come."""
        self._producer = None

    def _put_once(self, step: int, tuples: pl.DataFrame) -> None:
        producer = self._connect()
        if step <= self.step:  # it was committed, though the answer was lost
            return
        self._lost.clear()
        if self.transactional:
            producer.begin_transaction()
        faults: list[Any] = []

        def delivered(fault: Any, message: Any) -> None:
            if fault is not None and not faults:
                faults.append(fault)

        for number, (key, value) in enumerate(self._messages(tuples)):
            more: dict[str, Any] = {}
            if not self.transactional:  # else one that is not delivered fails the transaction
                header = {STEP_HEADER: f"{self.run}/{self.output}/{step}/{number}"}
                more = {"headers": header, "on_delivery": delivered}
            while True:
                try:
                    producer.produce(self.cluster.topic, value, key, **more)
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        if self.transactional:
            self._commit(producer, step)
            return
        self._flush(producer)
        if faults:
            from confluent_kafka import KafkaException

            raise KafkaException(faults[0])

    def _commit(self, producer: Producer, step: int) -> None:
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        self._flush(producer)
        if self._lost:
            # The connection was lost meanwhile. librdkafka 2.16 then waits forever for the coordinator of transactions,
            # whatever the timeout; a new producer gives this transaction up, and writes the step again.
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        place = TopicPartition(self.cluster.topic, 0, step + 1)
        _in_time(lambda: producer.send_offsets_to_transaction([place], self._membership, ANSWER_SECONDS))
        _in_time(lambda: producer.commit_transaction(ANSWER_SECONDS))

    def _flush(self, producer: Producer) -> None:
        """Wait until all messages are there, or the brokers are lost; raises if for a while no more are."""
        from confluent_kafka import KafkaError, KafkaException

        least, until = len(producer), time.monotonic() + ANSWER_SECONDS
        while (left := producer.flush(_LOOK_SECONDS)) and not self._lost:
            if left < least:
                least, until = left, time.monotonic() + ANSWER_SECONDS
            elif time.monotonic() >= until:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def _connect(self) -> Producer:
        """The producer. A new one ends what an earlier one with its name had begun, and shuts that one out."""
        from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

        if self._producer is None:
            # The Java clients' partitioner, so that a key lies where theirs would put it.
            given: dict[str, Any] = {
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": _QUEUED,
                "linger.ms": 5,
            }
            if not self.transactional:
                self._producer = self.cluster.producer(**given, **{"enable.idempotence": True})
                return self._producer
            assert self._group is not None
            if not self.cluster.answers(self._group, ANSWER_SECONDS):  # a producer would not notice that it is back
                raise KafkaException(KafkaError(KafkaError._TRANSPORT))
            lost = self._lost = []
            given |= {"transactional.id": self._name, "error_cb": lost.append}
            producer = self.cluster.producer(**given)
            producer.init_transactions(ANSWER_SECONDS)
            found = self._group.committed([TopicPartition(self.cluster.topic, 0)], timeout=ANSWER_SECONDS)[0]
            if found.error is not None:
                raise RunError(f"{self._where}: {self.cluster.reason(found.error)}")
            if found.offset != OFFSET_INVALID:
                self.step = max(self.step, found.offset - 1)
            self._producer = producer
        return self._producer

    def _try(self, work: Callable[[], object]) -> None:
        """Do it; if the brokers are away, again with a new producer, which learns what became of the step."""
        from confluent_kafka import KafkaError, KafkaException

        shut_out = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
        hopeless = (
            KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC,
        )  # fmt: skip
        for attempt in range(1, ATTEMPTS + 1):
            try:
                work()
                return
            except KafkaException as fault:
                code = fault.args[0].code()
                self._producer = None
                if code in shut_out:
                    raise RunError(
                        f"{self._where}: another process writes there for the same checkpoint. Let only one run"
                    ) from None
                reason = self.cluster.reason(fault)
                is_large = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE).str() in reason
                if code in hopeless or is_large or attempt == ATTEMPTS:
                    remedy = f"allow it ({LARGE})" if is_large else "fix it"
                    raise RunError(
                        f"{self._where}: {reason}. Nothing is lost: {remedy}, then start again with the same checkpoint"
                    ) from None
            time.sleep(random.uniform(0.5, 1.0) * 2**attempt / 4)

    def _messages(self, tuples: pl.DataFrame) -> Iterator[tuple[bytes | None, bytes]]:
        """The key and value of each message."""
        if self.format == ARROW:
            rows = max(1, tuples.height * ARROW_BYTES // max(1, int(tuples.estimated_size())))
            for some in tuples.iter_slices(rows):
                yield None, _arrow(some)
            return
        values = _json(tuples) if self.format == JSON else _csv(tuples)
        yield from zip(self._keys(tuples), values, strict=True)

    def _keys(self, tuples: pl.DataFrame) -> Sequence[bytes | None]:
        """The text of one column, or an object of JSON with several."""
        if not self.key:
            return [None] * tuples.height
        if len(self.key) > 1:
            return _json(tuples.select(self.key))
        texts = tuples.select(cs.datetime().dt.to_string(TIME_FORMAT), ~cs.datetime()).select(self.key).to_series()
        return [None if text is None else text.encode() for text in texts.cast(pl.String).to_list()]

    @property
    def _name(self) -> str:
        """Whose the transactions and the group are."""
        return f"arterial-{self.run}-{self.output}"

    @property
    def _where(self) -> str:
        return f"output {self.output!r}: {self.cluster.place}"


def _in_time(work: Callable[[], None]) -> None:
    """Do it in a thread that is given up if it takes longer than its own timeout."""
    from confluent_kafka import KafkaError, KafkaException

    faults: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=call, name="arterial-kafka-commit", daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS + 1)
    if thread.is_alive():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    if faults:
        raise faults[0]


def _json(tuples: pl.DataFrame) -> list[bytes]:
    content = BytesIO()
    write_json_lines(tuples, content)
    return content.getvalue().split(b"\n")[:-1]


def _csv(tuples: pl.DataFrame) -> list[bytes]:
    ready = tuples.with_columns(cs.datetime().dt.to_string(TIME_FORMAT))
    lines = ready.write_csv(include_header=False).encode().split(b"\n")[:-1]
    if len(lines) == tuples.height:
        return lines
    # A text holds a line end.
    return [ready.slice(row, 1).write_csv(include_header=False).encode()[:-1] for row in range(tuples.height)]


def _arrow(tuples: pl.DataFrame) -> bytes:
    table: pa.Table = tuples.to_arrow(compat_level=pl.CompatLevel.oldest())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
