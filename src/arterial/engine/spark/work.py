"""What a task needs to know of a run: the plan, the sources, the sinks, the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arterial.connectors.sink import Sink
from arterial.connectors.source import Source
from arterial.engine.plan.plan import Channel, Plan
from arterial.engine.spark.partitions import spark_keys


@dataclass(frozen=True)
class Work:
    """A run, as its tasks see it."""

    run: str
    plan: Plan
    sources: Mapping[str, Source]
    sinks: Mapping[str, Sink]
    policy: str
    rejects: str
    """The folder for tuples that were set aside."""
    chunks: str
    """The folder for large chunks of state."""
    version: int = 1
    """The version of the network; see `versions`."""
    memory: str = ""
    """The folder in shared memory for long shipments; empty if tasks run on several machines."""
    channels: Mapping[int, Channel] = field(init=False)
    keys: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        channels = [c for level in (self.plan.head, *self.plan.levels) for c in level.departures]
        object.__setattr__(self, "channels", {channel.number: channel for channel in channels})
        object.__setattr__(self, "keys", spark_keys(self.plan.shards))
