"""A run's work, pickled for tasks and planners; unpickled once a process.

Spark starts several short-lived Python processes for a query, and each unpickles what it is given. So this module, and
those of what Spark holds (`datasource`, `step`), import little; the boxes are loaded where they run.
"""

from __future__ import annotations

import gc
import hashlib
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arterial.engine.sources.source import Source
    from arterial.engine.work import Work

ROW_SCHEMA = "slot int, packed binary"
"""A row of Spark: the integer that stands for a slot, and a consignment or a note."""

_works: dict[tuple[str, int], Work] = {}
_sources: dict[str, Mapping[str, Source]] = {}


@dataclass(frozen=True)
class PackedWork:
    """A run's work, and its sources alone for those who only plan; later versions lie in files of a folder."""

    packed: bytes
    packed_sources: bytes
    shards: int
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
        sources: bytes = cloudpickle.dumps(dict(work.sources))  # type: ignore[no-untyped-call]
        return cls(packed, sources, work.plan.shards, hashlib.sha256(packed).hexdigest(), work.version, folder)

    def load(self, version: int | None = None) -> Work:
        """Unpickle it; once in each process, so that what boxes prepare for themselves is kept."""
        wanted = (self.digest, self.version if version is None else version)
        if wanted not in _works:
            from pyspark import cloudpickle

            packed = self.packed
            if wanted[1] != self.version:
                packed = work_file(self.folder, *wanted).read_bytes()
            _works.clear()
            _works[wanted] = cloudpickle.loads(packed)
            # A worker collects garbage after every task: what it keeps for the whole run need not be looked at again.
            gc.freeze()
        return _works[wanted]

    def sources(self) -> Mapping[str, Source]:
        """The sources, without the boxes."""
        if self.digest not in _sources:
            from pyspark import cloudpickle

            _sources.clear()
            _sources[self.digest] = cloudpickle.loads(self.packed_sources)
        return _sources[self.digest]


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
