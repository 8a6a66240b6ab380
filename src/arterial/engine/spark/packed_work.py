"""A run's work, pickled for tasks and planners; unpickled once a process.

It lies in files beside the checkpoint, and tasks carry only where: Spark sends what a task carries with every task, and
cannot send more than a megabyte to a source.

Spark starts several short-lived Python processes for a query, and each unpickles what it is given. So this module, and
those of what Spark holds (`source`, `levels`), import little; the boxes are loaded where they run.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.errors import RunError
from arterial.network.place import only_here
from arterial.storage.epoch import check_epoch
from arterial.storage.place import OWN, PRIVATE, make_folder, put_in_place, remove, remove_folder
from arterial.storage.remote import path_of

if TYPE_CHECKING:
    from arterial.connectors.sink import Sink
    from arterial.connectors.source import Source
    from arterial.engine.spark.work import Work
    from arterial.network.network import NetworkValue

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
    path: tuple[str, ...] = ()
    """Where the driver looks for a user's modules; workers on the same machine look there too."""

    @classmethod
    def of(cls, work: Work, checkpoint: Path) -> PackedWork:
        """Pickle it into the checkpoint, in the place of what earlier runs left there."""
        folder = checkpoint / "works"
        remove_folder(folder)
        make_folder(folder, OWN)
        own = tuple(
            str(Path(entry).absolute()) for entry in sys.path if not entry.startswith((sys.prefix, sys.base_prefix))
        )
        packed = cls(work.run, work.plan.shards, work.version, str(folder), own)
        packed.add(work)
        sources = pickled(dict(work.sources), work.plan.network, work.sources, {})
        put_in_place(packed._sources_file, sources, mode=PRIVATE)
        return packed

    def add(self, work: Work) -> None:
        """Pickle a version of it."""
        packed = pickled(work, work.plan.network, work.sources, work.sinks)
        put_in_place(self._file(work.version), packed, mode=PRIVATE)

    def remove(self, version: int) -> None:
        """Remove a version that no step can need."""
        remove(self._file(version))

    def load(self, version: int | None = None) -> Work:
        """Unpickle a version; once in each process, so that what boxes prepare for themselves is kept."""
        wanted = (self.run, self.version if version is None else version)
        if wanted not in _works:
            from pyspark import cloudpickle

            self._extend_path()
            self.check_epoch()
            packed = self._file(wanted[1]).read_bytes()
            self.check_epoch()  # the file is this run's, and not that of one which takes over just now
            _works.clear()
            _works[wanted] = cloudpickle.loads(packed)
            # A worker collects garbage after every task: what it keeps for the whole run need not be looked at again.
            gc.freeze()
        return _works[wanted]

    def check_epoch(self) -> None:
        """Raise if another run has taken over the checkpoint."""
        check_epoch(path_of(self.folder).parent, self.run)

    def sources(self) -> Mapping[str, Source]:
        """The sources, without the boxes."""
        if self.run not in _sources:
            from pyspark import cloudpickle

            self._extend_path()
            packed = self._sources_file.read_bytes()
            _sources.clear()
            _sources[self.run] = cloudpickle.loads(packed)
        return _sources[self.run]

    def _extend_path(self) -> None:
        sys.path += [entry for entry in self.path if entry not in sys.path]

    def _file(self, version: int) -> Path:
        return path_of(self.folder) / f"{version:04d}.pickle"

    @property
    def _sources_file(self) -> Path:
        return path_of(self.folder) / "sources.pickle"


def pickled(value: object, network: NetworkValue, sources: Mapping[str, Source], sinks: Mapping[str, Sink]) -> bytes:
    """Something of a run for other processes, with the classes and functions that only the user's own code defines."""
    from pyspark import cloudpickle

    from arterial.network.expression.function import functions_of

    modules = {type(member).__module__ for member in (*network.boxes, *sources.values(), *sinks.values())}
    modules |= {function.body.__module__ for box in network.boxes for function in functions_of(box)}
    for module in (modules & sys.modules.keys()) - {"__main__"}:
        if only_here(module):
            cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
    try:
        packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    except Exception as trouble:
        where, cause = _culprit(network, sources, sinks) or ("its plan", trouble)
        raise RunError(
            f"network {network.name!r}: {where} cannot be sent to Spark's workers: {type(cause).__name__}: {cause}. "
            "Open files and connections where they are used, or run it with local=True"
        ) from None
    return packed


def _culprit(
    network: NetworkValue, sources: Mapping[str, Source], sinks: Mapping[str, Sink]
) -> tuple[str, Exception] | None:
    """The first box, source or sink that cannot be pickled, and why."""
    from pyspark import cloudpickle

    boxes = {box.name: box for box in network.boxes}
    groups: tuple[tuple[str, Mapping[str, object]], ...] = (("box", boxes), ("source", sources), ("sink of", sinks))
    for what, members in groups:
        for name, member in members.items():
            try:
                cloudpickle.dumps(member)  # type: ignore[no-untyped-call]
            except Exception as cause:
                return f"the {what} {name!r}", cause
    return None
