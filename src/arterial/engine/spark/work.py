"""What a task needs to know of a run: the plan, the sources, the sinks, the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arterial.connectors.sink import Sink
from arterial.connectors.source import Source
from arterial.engine.plan.plan import Channel, Plan
from arterial.engine.plan.successor import Born, owners
from arterial.engine.spark.partitions import spark_keys


@dataclass(frozen=True)
class Work:
    """A run, as its tasks see it."""

    run: str
    plan: Plan
    sources: Mapping[str, Source]
    sinks: Mapping[str, Sink]
    policy: str
    folder: str
    """The run's own folder: for large chunks of state, and for tuples that are set aside, shown, or overflow."""
    version: int = 1
    """The version of the network; see `arterial.engine.run.versions.versions`."""
    born: Born = field(default_factory=dict)
    """The incarnations of its boxes."""
    memory: str = ""
    """The folder in shared memory for long shipments; empty if tasks run on several machines."""
    durable: bool = False
    """Whether what is written must survive a power cut."""
    channels: Mapping[int, Channel] = field(init=False)
    keys: tuple[int, ...] = field(init=False)
    owners: Mapping[str, str] = field(init=False)
    """Under which names the state of boxes and of ends of channels is kept."""

    def __post_init__(self) -> None:
        channels = [c for level in (self.plan.head, *self.plan.levels) for c in level.departures]
        object.__setattr__(self, "channels", {channel.number: channel for channel in channels})
        object.__setattr__(self, "owners", owners(self.plan, self.born))
        object.__setattr__(self, "keys", spark_keys(self.plan.shards))
