"""The table of a connection point: the stream of an arc, kept for some time, appended to exactly once (Aurora §2.2).

One Parquet file for each step and slot, sorted by the storage key, its name with the time of its last tuple. So what is
older than the retention is found, and removed, without opening a file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.files import put_tuples
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END
from arterial.storage.place import remove

_NAME = re.compile(r"part-(\d+)-(\d+)-(-?\d+)\.parquet")


@dataclass(frozen=True)
class TableSink(Sink):
    """Keeps the tuples of a connection point in a folder, for `retention` units of the stream's time."""

    folder: str | Path
    retention: int
    storage_key: tuple[str, ...] = ()
    schema: Schema | None = None
    time: str = ""

    def bind(self, output: str, stream: Stream, folder: Path) -> TableSink:
        """Make the folder."""
        own = Path(self.folder).absolute()
        try:
            own.mkdir(parents=True, exist_ok=True)
        except OSError as trouble:
            raise RunError(f"connection point {output!r}: cannot make {own}: {trouble.strerror}") from None
        return replace(self, folder=own, schema=stream.schema, time=stream.time)

    def write(self, delivery: Delivery) -> None:
        """Append the step's tuples, and remove what is too old by now."""
        train, folder = delivery.train, Path(self.folder)
        if len(train):
            latest = int(train.tuples[self.time].to_physical().max())  # type: ignore[arg-type]
            name = f"part-{delivery.step:09d}-{delivery.slot:03d}-{latest}.parquet"
            tuples = train.tuples.sort(self.storage_key, maintain_order=True) if self.storage_key else train.tuples
            put_tuples(folder / name, tuples, "parquet")
        if train.through not in (BEGIN, END):
            self._prune(delivery.slot, train.through - self.retention)

    def read(self) -> pl.DataFrame:
        """All tuples that are kept, by time."""
        assert self.schema is not None
        paths = sorted(path for path in Path(self.folder).iterdir() if _NAME.fullmatch(path.name))
        frames = [pl.read_parquet(path) for path in paths]
        return pl.concat(frames).sort(self.time, maintain_order=True) if frames else self.schema.empty()

    def _prune(self, slot: int, oldest: int) -> None:
        for entry in os.scandir(self.folder):
            found = _NAME.fullmatch(entry.name)
            if found and int(found.group(2)) == slot and int(found.group(3)) < oldest:
                remove(Path(entry.path))
