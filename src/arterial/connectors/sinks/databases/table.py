"""The table of a connection point: the stream of an arc, kept for some time, appended to exactly once (Aurora §2.2).

Tasks write a Parquet file for each step and slot; the driver lets them count when the step is committed. How the table
is laid out, merged and read is in `connectors.points`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.points.contents import Point, begin_point, read_contents
from arterial.connectors.points.files import numbered, part_name, read_files, write_table_file
from arterial.connectors.points.keeper import Keeper
from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.files.parts import writing_part
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.train import END
from arterial.storage.place import make_folder
from arterial.storage.remote import path_of


@dataclass(frozen=True)
class TableSink(Sink):
    """Keeps the tuples of a connection point in a folder, for `retention` units of the stream's time."""

    folder: str | Path
    retention: int
    storage_key: tuple[str, ...] = ()
    point: Point | None = None
    keeper: Keeper | None = field(default=None, compare=False, repr=False)
    """Only on the driver."""

    def bind(self, output: str, stream: Stream, folder: Path) -> TableSink:
        """Make the folder, and go on from what is there."""
        own = path_of(self.folder).absolute()
        try:
            make_folder(own)
            point = begin_point(own, output, stream, self.storage_key, self.retention)
            return replace(self, folder=own, point=point, keeper=Keeper(own, point))
        except OSError as trouble:
            raise RunError(f"connection point {output!r}: cannot write to {own}: {trouble.strerror}") from None

    def write(self, delivery: Delivery) -> str:
        """Write the part of a step and slot; an empty one too, since it says how far the stream is complete."""
        assert self.point is not None
        train, path = delivery.train, path_of(self.folder) / part_name(delivery.step, delivery.slot)
        tuples = numbered(train.tuples, delivery.step, delivery.slot)
        with writing_part(path):
            write_table_file(path, tuples, self.point.time, self.storage_key, train.through)
        return path.name

    def receive(self, step: int, receipt: str) -> None:
        """Know of a part that a task wrote."""
        if self.keeper is not None:
            self.keeper.receive(step, receipt)

    def commit(self, step: int) -> None:
        """Let the parts of the step count, and drop what is too old by now."""
        if self.keeper is not None:
            self.keeper.commit(step)

    def finish(self) -> None:
        """Leave nothing behind that does not count."""
        if self.keeper is not None:
            self.keeper.finish()

    def read(self) -> pl.DataFrame:
        """All instants that are kept whole, by time."""
        assert self.point is not None
        schema = self.point.schema
        while True:
            contents = read_contents(path_of(self.folder))
            try:
                lost, files = contents.lost, contents.files
                read = read_files(path_of(self.folder), files, self.point.time, lost, END, schema.names)
            except FileNotFoundError:  # it no longer counts; what does is in the contents now
                continue
            return read.tuples if read.tuples.columns else schema.empty()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "keeper": None}
