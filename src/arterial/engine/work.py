"""What a task needs to know of a run: the plan, the sources, the sinks, the policy; unpacked once a worker."""

from __future__ import annotations

import gc
import hashlib
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arterial.engine.plan import Channel, Plan
from arterial.engine.shards import spark_keys
from arterial.engine.sinks.sink import Sink
from arterial.engine.sources.source import Source

ROW_SCHEMA = "slot int, packed binary"
"""A row of Spark: the integer that stands for a slot, and a consignment or a note."""


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
    version: int = 1
    """The version of the network; see `versions`."""
    channels: Mapping[int, Channel] = field(init=False)
    keys: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        channels = [c for level in (self.plan.head, *self.plan.levels) for c in level.departures]
        object.__setattr__(self, "channels", {channel.number: channel for channel in channels})
        object.__setattr__(self, "keys", spark_keys(self.plan.shards))


_unpacked: dict[tuple[str, int], Work] = {}


@dataclass(frozen=True)
class PackedWork:
    """A run's work, pickled; versions that came later lie in files of a folder."""

    packed: bytes
    digest: str
    version: int
    folder: str

    @classmethod
    def of(cls, work: Work, folder: str = "") -> PackedWork:
        """Pickle it, with the classes that only the user's script knows."""
        from pyspark import cloudpickle

        members = [*work.plan.network.boxes, *work.sources.values(), *work.sinks.values()]
        for module in {type(member).__module__ for member in members}:
            if _only_here(module):
                cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
        packed: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]
        return cls(packed, hashlib.sha256(packed).hexdigest(), work.version, folder)

    def load(self, version: int | None = None) -> Work:
        """Unpickle it; once in each process, so that what boxes prepare for themselves is kept."""
        wanted = (self.digest, self.version if version is None else version)
        if wanted not in _unpacked:
            from pyspark import cloudpickle

            packed = self.packed
            if wanted[1] != self.version:
                packed = work_file(self.folder, *wanted).read_bytes()
            _unpacked.clear()
            _unpacked[wanted] = cloudpickle.loads(packed)
            # A worker collects garbage after every task: what it keeps for the whole run need not be looked at again.
            gc.freeze()
        return _unpacked[wanted]


def work_file(folder: str, digest: str, version: int) -> Path:
    """Where the tasks of a run find another version of its work."""
    return Path(folder) / "works" / f"{digest[:16]}-{version:04d}.pickle"


def _only_here(module: str) -> bool:
    """Whether a module is a user's own script, which workers cannot import: neither ours nor installed."""
    if module.partition(".")[0] == "arterial" or module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    return file is not None and not any(file.startswith(path) for path in installed)
