"""What is fed live: topics of Kafka with a tuple a message, in JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

JARS = Path(__file__).parents[2] / "build" / "peers" / "kafka"
"""The connectors of Flink and Spark."""
FIELDS: Mapping[str, Mapping[str, str]] = {
    "averages": {"time": "BIGINT", "sensor": "BIGINT", "value": "BIGINT"},
    "sessions": {"time": "BIGINT", "user": "BIGINT", "spent": "BIGINT"},
    "visits": {"time": "BIGINT", "object": "BIGINT", "x": "DOUBLE", "y": "DOUBLE"},
    "leaders": {"time": "BIGINT", "page": "BIGINT"},
    "firsts": {"time": "BIGINT", "id": "BIGINT", "value": "BIGINT"},
}
"""The columns of each job's tuples, and their types in SQL."""


def topic_of(place: str) -> tuple[str, str] | None:
    """The server and the topic of `kafka://SERVER/TOPIC`; None for a file."""
    server, slash, topic = place.removeprefix("kafka://").partition("/")
    return (server, topic) if slash and place.startswith("kafka://") else None


def stream_pace() -> float:
    """How much faster than the wall's the stream's clock goes."""
    return float(os.environ["STREAM_PACE"])
