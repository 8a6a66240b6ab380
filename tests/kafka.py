"""A real Apache Kafka for the tests: one broker in KRaft mode on loopback, in a temporary folder, stopped in the end.

Its jars are copied by `make setup` (tools/kafka/pom.xml); without them, or without Java, its tests are left out.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

JARS = Path(sys.prefix) / ".kafka" / "jars"
USER, PASSWORD = "tester", "not-for-logs-4712"

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port},TLS://127.0.0.1:{tls_port},\
CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,TLS:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.tls.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location={folder}/server.pem
listener.name.tls.ssl.truststore.type=PEM
listener.name.tls.ssl.truststore.location={folder}/client.crt
listener.name.tls.ssl.client.auth=required
log.dirs={folder}/data
num.network.threads=1
num.io.threads=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=100
log.initial.task.delay.ms=500
"""
_JAVA = ["-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]


class Broker:
    """A broker in a folder of its own, on free ports; a second listener asks for a password, a third one also for a
    certificate, over TLS."""

    def __init__(self, java: str, folder: Path) -> None:
        self.port, self.sasl_port, self.tls_port, controller = _free_ports(4)
        self._java, self._folder = java, folder
        self.server_certificate, _ = _certificate(folder, "server")
        self.client_certificate, self.client_key = _certificate(folder, "client", PASSWORD)
        self._properties = folder / "server.properties"
        self._properties.write_text(
            _PROPERTIES.format(
                port=self.port, sasl_port=self.sasl_port, tls_port=self.tls_port, controller=controller, folder=folder,
                user=USER, password=PASSWORD,
            )
        )  # fmt: skip
        # It may begin with a minus, as an option does.
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        done = self._run("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(self._properties))
        assert done.returncode == 0, done.stderr
        self.start()

    @property
    def server(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    def uri(self, topic: str, options: str = "") -> str:
        """What a user writes."""
        return f"kafka://{self.server}/{topic}" + (f"?{options}" if options else "")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        from confluent_kafka import KafkaException

        log = self._folder / "log"
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [self._java, *_JAVA, "-cp", f"{JARS}/*", "kafka.Kafka", str(self._properties)], stdout=said, stderr=said
            )
        until = time.monotonic() + 90
        while True:
            try:
                if self._admin.list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                pass
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def stop(self, *, kill: bool = False) -> None:
        """Stop it."""
        self._process.kill() if kill else self._process.terminate()
        self._process.wait(60)

    def topic(self, partitions: int = 1, name: str = "", **config: str) -> str:
        """A new topic."""
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        name = name or f"t-{uuid.uuid4().hex[:12]}"
        options = {key.replace("_", "."): value for key, value in config.items()}
        self._admin.create_topics([NewTopic(name, partitions, 1, config=options)])[name].result(30)
        return name

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([topic])[topic].result(30)

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the first messages of a partition, as retention does."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(topic, partition, offset)
        for found in self._admin.delete_records([place]).values():
            found.result(30)

    def send(self, topic: str, messages: Iterable[Any], partition: int | None = None, key: str | None = None) -> None:
        """Send messages: bytes as they are, everything else as JSON."""
        from confluent_kafka import Producer

        # Idempotent: on a busy machine a batch that is sent again would otherwise come behind later ones.
        settings = {"bootstrap.servers": self.server, "queue.buffering.max.messages": 1_000_000}
        producer: Any = Producer({**settings, "enable.idempotence": True})
        where = {} if partition is None else {"partition": partition}
        for message in messages:
            value = message if isinstance(message, bytes | None) else json.dumps(message).encode()
            name = str(message[key]).encode() if key and isinstance(message, Mapping) else None
            producer.produce(topic, value, name, **where)
        assert producer.flush(60) == 0

    def read(self, topic: str, *, committed: bool = True) -> list[Any]:
        """All messages of a topic by now, partition by partition; as values."""
        return [message.value() for message in self.messages(topic, committed=committed)]

    def messages(self, topic: str, *, committed: bool = True) -> list[Any]:
        """All messages of a topic by now, partition by partition."""
        from confluent_kafka import Consumer, TopicPartition

        level = "read_committed" if committed else "read_uncommitted"
        settings = {"group.id": "tests", "enable.partition.eof": True, "isolation.level": level}
        with closing(Consumer({"bootstrap.servers": self.server, **settings})) as consumer:
            numbers = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            for number in numbers if committed else ():
                self.committed_end(topic, number)
            consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
            found, ends = [], 0
            while ends < len(numbers):
                for message in consumer.consume(10_000, 0.2):
                    if message.error() is None:
                        found.append(message)
                    else:
                        ends += 1
        return sorted(found, key=lambda one: (one.partition(), one.offset()))

    def committed_end(self, topic: str, partition: int, seconds: float = 10.0) -> int:
        """Where a partition ends, once no transaction is open; the marks of one are written just after its commit."""
        from confluent_kafka import TopicPartition

        place, until = TopicPartition(topic, partition), time.monotonic() + seconds
        while True:
            ends = [client.get_watermark_offsets(place, timeout=30)[1] for client in self._askers]
            if ends[0] == ends[1] or time.monotonic() >= until:
                return int(ends[0])
            time.sleep(0.01)

    def group_offsets(self, group: str, topic: str, partitions: int) -> list[int]:
        """What a group has committed."""
        from confluent_kafka import Consumer, TopicPartition

        with closing(Consumer({"bootstrap.servers": self.server, "group.id": group})) as consumer:
            places = [TopicPartition(topic, number) for number in range(partitions)]
            return [one.offset for one in consumer.committed(places, timeout=10)]

    def tool(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of Kafka's own tools."""
        return self._run(name, *arguments)

    def command(self, tool: str) -> list[str]:
        """What starts one of Kafka's own tools."""
        return [self._java, *_JAVA, "-cp", f"{JARS}/*", tool]

    def _run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command(name), *arguments], capture_output=True, text=True, check=False, timeout=120
        )

    @cached_property
    def _askers(self) -> list[Any]:
        """Two clients that see what is committed, and everything."""
        from confluent_kafka import Consumer

        levels, settings = ("read_committed", "read_uncommitted"), {"bootstrap.servers": self.server, "log_level": 0}
        return [Consumer({**settings, "group.id": "tests", "isolation.level": level}) for level in levels]

    @cached_property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.server, "log_level": 0})


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """A broker; the tests of a process share it, each with topics of its own."""
    java = find_java()
    if java is None or not JARS.is_dir():
        pytest.skip("Apache Kafka is not here: make setup copies its jars where Maven and Java are installed")
    folder = Path(tempfile.mkdtemp(prefix="arterial-kafka-", dir="/tmp"))
    broker = Broker(java, folder)
    yield broker
    broker.stop(kill=True)
    shutil.rmtree(folder, ignore_errors=True)


def _certificate(folder: Path, name: str, password: str = "") -> tuple[Path, Path]:
    """A certificate for loopback that signs itself, and its key; together they are in NAME.pem."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    hidden = ["-passout", f"pass:{password}"] if password else ["-nodes"]
    names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *curve, *hidden, *names, *files], check=True, capture_output=True)
    (folder / f"{name}.pem").write_text(key.read_text() + certificate.read_text())
    return certificate, key


def find_java() -> str | None:
    """The Java to start it with."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else None
    return str(found) if found is not None and found.is_file() else shutil.which("java")


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
