"""What a URI says about a topic and its cluster, and clients of it. Secrets come from the environment or from files.

`kafka://HOST:PORT,HOST:PORT/TOPIC?OPTIONS`. A secret is read when a client is made, in the process that makes it; what
is pickled, logged or kept holds only the name of the variable or file.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from arterial.errors import MachineError, RunError, near

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

ASK_SECONDS = 10.0
"""So long a cluster may take to answer."""

SETTINGS = (
    "security.protocol", "sasl.mechanism", "sasl.username", "sasl.kerberos.service.name", "sasl.kerberos.principal",
    "sasl.kerberos.keytab", "sasl.oauthbearer.method", "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope", "ssl.ca.location", "ssl.certificate.location",
    "ssl.key.location", "ssl.keystore.location", "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification", "client.id", "client.rack", "socket.timeout.ms", "fetch.max.bytes",
    "message.max.bytes", "compression.type",
)  # fmt: skip
"""What is passed on to librdkafka; in a URI with _ instead of the dots."""

SECRETS = ("sasl.password", "ssl.key.password", "ssl.keystore.password", "sasl.oauthbearer.client.secret")
"""What is passed on too, and only ever named: `sasl_password_env=VARIABLE` or `sasl_password_file=PATH`."""

EXPECTED = "kafka://HOST:PORT/TOPIC"
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")

_quiet = logging.getLogger("arterial.kafka")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


def in_uri(setting: str) -> str:
    """The name of a setting of librdkafka as an option of a URI."""
    return setting.replace(".", "_")


@dataclass(frozen=True)
class Cluster:
    """A topic, the servers to ask for it, and how to speak to them; without secrets."""

    servers: str
    topic: str
    settings: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str, str], ...] = ()
    """Of each the setting, `env` or `file`, and the name of the variable or file."""
    heard: list[str] = field(default_factory=list, compare=False, repr=False)
    """What the client reported last, for messages."""

    @classmethod
    def from_uri(cls, uri: str, known: Iterable[str]) -> tuple[Cluster, dict[str, str]]:
        """The topic that a URI names, and those of its options that are for the caller.

        >>> Cluster.from_uri("kafka://127.0.0.1:9092/reports?format=csv&client_id=me", ["format"])[1]
        {'format': 'csv'}
        """
        place, _, query = uri.partition("?")
        servers, slash, topic = place.removeprefix("kafka://").partition("/")
        if "@" in servers:
            raise RunError(
                f"Kafka: the URI names a user; expected {EXPECTED}, with sasl_username=NAME and sasl_password_env=NAME "
                "or sasl_password_file=PATH behind it"
            )
        if not slash or not all(map(_SERVER.fullmatch, servers.split(","))):
            raise RunError(
                f"Kafka: the URI cannot be read; expected {EXPECTED}, such as kafka://127.0.0.1:9092/reports"
            )
        if not _TOPIC.fullmatch(topic):
            raise RunError(f"Kafka at {servers}: a topic has letters, digits, '.', '_' and '-'; expected {EXPECTED}")
        known, settings, secrets, others = tuple(known), {}, {}, {}
        for option in filter(None, query.split("&")):
            name, _, value = option.partition("=")
            dotted, value = name.replace("_", "."), unquote_plus(value)
            bare, _, way = dotted.rpartition(".")
            if name in known:
                others[name] = value
            elif dotted in SETTINGS:
                settings[dotted] = value
            elif bare in SECRETS and way in ("env", "file"):
                secrets[bare] = (way, value)
            elif dotted in SECRETS:
                raise RunError(
                    f"Kafka topic {topic}: {name} is a secret, and a URI can be seen by others; expected "
                    f"{name}_env=VARIABLE or {name}_file=PATH"
                )
            else:
                names = (
                    *known,
                    *map(in_uri, SETTINGS),
                    *(f"{in_uri(one)}_env" for one in SECRETS),
                )
                shown = f" {name!r}" if re.fullmatch("[a-z_.]+", name) else ""  # else maybe a piece of a secret
                raise RunError(
                    f"Kafka topic {topic}: unknown option{shown}; expected one of: {', '.join(names)}"
                    f"{near(name, names)}"
                )
        found = tuple((name, way, value) for name, (way, value) in secrets.items())
        return cls(servers, topic, tuple(settings.items()), found), others

    @property
    def place(self) -> str:
        """The topic, for messages."""
        return f"Kafka topic {self.topic!r} at {self.servers}"

    def consumer(self, **given: Any) -> Consumer:
        """A client that reads."""
        return self._client("Consumer", given)  # type: ignore[no-any-return]

    def producer(self, **given: Any) -> Producer:
        """A client that writes."""
        return self._client("Producer", given)  # type: ignore[no-any-return]

    def reason(self, fault: Any) -> str:
        """What the client says about a fault, with what it reported before, and without secrets."""
        from confluent_kafka import KafkaException

        error = fault.args[0] if isinstance(fault, KafkaException) and fault.args else fault
        said = error.str() if hasattr(error, "str") else str(error)
        known = [one for one in self.heard[-2:] if one not in said]
        return self._masked("; ".join([said, *known]))

    def partitions(self, client: Any, *, wait: float = ASK_SECONDS) -> dict[int, int]:
        """The partitions of the topic with their leaders (-1 for none); raises `RunError` if there is no topic."""
        from confluent_kafka import KafkaError

        found = self._metadata(client, wait).topics[self.topic]
        if found.error is not None and found.error.code() == KafkaError.LEADER_NOT_AVAILABLE:
            return {}
        if found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise RunError(
                f"{self.place}: there is no such topic. Create it (kafka-topics.sh --bootstrap-server {self.servers} "
                f"--create --topic {self.topic} --partitions 4), or correct its name"
            )
        if found.error is not None:
            raise RunError(f"{self.place}: {self.reason(found.error)}")
        return {number: one.leader for number, one in sorted(found.partitions.items())}

    def answers(self, client: Any, wait: float) -> bool:
        """Whether the cluster answers within so many seconds."""
        from confluent_kafka import KafkaException

        until = time.monotonic() + wait
        while time.monotonic() < until:
            try:
                client.list_topics(self.topic, timeout=1.0)
                return True
            except KafkaException:
                time.sleep(0.1)
        return False

    def offsets(self, client: Any, partition: int) -> tuple[int, int]:
        """The offsets of a partition's first message, and behind the last one that can be read."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        refused = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION)
        until = time.monotonic() + ASK_SECONDS
        while True:
            try:
                place = TopicPartition(self.topic, partition)
                low, high = client.get_watermark_offsets(place, timeout=ASK_SECONDS)
                return low, high
            except KafkaException as fault:
                if fault.args[0].code() in refused or time.monotonic() >= until:
                    raise RunError(
                        f"{self.place}, partition {partition}: cannot be asked for its offsets: {self.reason(fault)}. "
                        "Repeat this command to go on"
                    ) from None
            time.sleep(0.1)  # a topic that was just made, or a leader that changes

    def _metadata(self, client: Any, wait: float) -> Any:
        """What the cluster says about the topic; raises `RunError` if it does not answer, or knows no such user."""
        from confluent_kafka import KafkaException

        until = time.monotonic() + wait
        while True:
            try:
                return client.list_topics(self.topic, timeout=min(wait, 2.0))
            except KafkaException as fault:
                client.poll(0)  # gives the reasons to `_hear`
                if time.monotonic() >= until or any("uthentication" in one for one in self.heard):
                    raise RunError(f"{self.place}: no connection: {self.reason(fault)}") from None

    def create(self, partitions: int) -> None:
        """Make the topic, unless it exists; as many replicas as the cluster makes by default."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        admin = self.administrator()
        try:
            admin.create_topics([NewTopic(self.topic, partitions, -1)], operation_timeout=ASK_SECONDS)[
                self.topic
            ].result()
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise RunError(f"{self.place}: cannot be created: {self.reason(fault)}") from None

    def administrator(self) -> AdminClient:
        """A client that asks about the topic."""
        return self._client("AdminClient", {})  # type: ignore[no-any-return]

    def identity(self, client: AdminClient, *, wait: float = ASK_SECONDS) -> str:
        """The number that the cluster gave the topic when it was made; empty if it has none, or does not say."""
        from confluent_kafka import KafkaException, TopicCollection

        try:
            found = client.describe_topics(TopicCollection([self.topic]), request_timeout=wait)[self.topic].result()
        except KafkaException:  # an old cluster, or one that does not permit to ask
            return ""
        return str(found.topic_id or "")

    def _client(self, kind: str, given: dict[str, Any]) -> Any:
        try:
            import confluent_kafka
            import confluent_kafka.admin
        except ImportError:
            raise MachineError(
                f"{self.place}: Kafka needs the package confluent-kafka: pip install 'arterial[kafka]'"
            ) from None
        settings = {
            "bootstrap.servers": self.servers, "client.id": "arterial", "error_cb": self._hear,
            "allow.auto.create.topics": False, "log.connection.close": False,
            "reconnect.backoff.max.ms": 1000, **dict(self.settings), **given,
            **self._read_secrets(),
        }  # fmt: skip
        if kind != "Consumer":
            del settings["allow.auto.create.topics"]
        try:
            return getattr(confluent_kafka.admin if kind == "AdminClient" else confluent_kafka, kind)(
                settings, logger=_quiet
            )
        except (confluent_kafka.KafkaException, ValueError, TypeError) as fault:
            raise RunError(f"{self.place}: {self.reason(fault)}") from None

    def _hear(self, error: Any) -> None:
        said = error.str()
        if said not in self.heard:
            self.heard.append(said)
            del self.heard[:-5]

    def _read_secrets(self) -> dict[str, str]:
        found = {}
        for setting, way, name in self.secrets:
            option = f"{in_uri(setting)}_{way}"
            if way == "env" and name not in os.environ:
                raise RunError(f"{self.place}: the environment variable {name} ({option}) is not set")
            try:
                found[setting] = os.environ[name] if way == "env" else Path(name).read_text().rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as fault:
                said = getattr(fault, "strerror", None) or "is not text"
                raise RunError(f"{self.place}: {name} ({option}) cannot be read: {said}") from None
        return found

    def _masked(self, text: str) -> str:
        try:
            secrets = self._read_secrets().values()
        except RunError:
            return text
        for secret in filter(None, secrets):
            text = text.replace(secret, "***")
        return text
