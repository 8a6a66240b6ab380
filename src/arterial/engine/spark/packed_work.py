"""A run's work, pickled for tasks and planners; unpickled once a process.

It lies in files beside the checkpoint, and tasks carry only where: Spark sends what a task carries with every task, and
cannot send more than a megabyte to a source.

Spark starts several short-lived Python processes for a query, and each unpickles what it is given. So this module, and
those of what Spark holds (`source`, `levels`), import little; the boxes are loaded where they run.
"""

from __future__ import annotations

import gc
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.storage.place import PRIVATE, put_in_place

if TYPE_CHECKING:
    from arterial.connectors.source import Source
    from arterial.engine.spark.work import Work

ROW_SCHEMA = "slot int, packed binary"
"""A row of Spark: the integer that stands for a slot, and a shipment or a report."""

_works: dict[tuple[str, int], Work] = {}
_sources: dict[str, Mapping[str, Source]] = {}


@dataclass(frozen=True)
class PackedWork:
    """Where a run's work lies: all versions of it, and its sources alone for those who only plan."""

    run: str
    shards: int
    version: int
    """The version that the run began with."""
    folder: str

    @classmethod
    def of(cls, work: Work, checkpoint: Path) -> PackedWork:
        """Pickle it into the checkpoint, in the place of what earlier runs left there."""
        from pyspark import cloudpickle

        folder = checkpoint / "works"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        packed = cls(work.run, work.plan.shards, work.version, str(folder))
        packed.add(work)
        sources: bytes = cloudpickle.dumps(dict(work.sources))  # type: ignore[no-untyped-call]
        put_in_place(packed._sources_file, sources, mode=PRIVATE)
        return packed

    def add(self, work: Work) -> None:
        """Pickle a version of it, with the classes that only the user's script knows."""
        from pyspark import cloudpickle

        members = [*work.plan.network.boxes, *work.sources.values(), *work.sinks.values()]
        for module in {type(member).__module__ for member in members}:
            if _only_here(module):
                cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
        pickled: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]
        put_in_place(self._file(work.version), pickled, mode=PRIVATE)

    def load(self, version: int | None = None) -> Work:
        """Unpickle a version; once in each process, so that what boxes prepare for themselves is kept."""
        wanted = (self.run, self.version if version is None else version)
        if wanted not in _works:
            from pyspark import cloudpickle

            packed = self._file(wanted[1]).read_bytes()
            _works.clear()
            _works[wanted] = cloudpickle.loads(packed)
            # A worker collects garbage after every task: what it keeps for the whole run need not be looked at again.
            gc.freeze()
        return _works[wanted]

    def sources(self) -> Mapping[str, Source]:
        """The sources, without the boxes."""
        if self.run not in _sources:
            from pyspark import cloudpickle

            packed = self._sources_file.read_bytes()
            _sources.clear()
            _sources[self.run] = cloudpickle.loads(packed)
        return _sources[self.run]

    def _file(self, version: int) -> Path:
        return Path(self.folder) / f"{version:04d}.pickle"

    @property
    def _sources_file(self) -> Path:
        return Path(self.folder) / "sources.pickle"


def _only_here(module: str) -> bool:
    """Whether a module is a user's own script, which workers cannot import: neither ours nor installed."""
    if module.partition(".")[0] == "arterial" or module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    return file is not None and not any(file.startswith(path) for path in installed)
