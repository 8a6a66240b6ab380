"""Exactly-once files: one for each step and slot, named by them, written aside and put in place whole.

A step that is run again after a failure writes the same names with the same content.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.storage.place import put_in_place, remove

FORMATS = ("parquet", "csv")
_PART = re.compile(r"part-\d{9}-\d{3}\.(parquet|csv)")


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes an output into a folder, as Parquet or CSV.

    `merge` puts all into one file when the run ends: a path, or True for one beside the folder, of its name.
    """

    folder: str | Path
    format: str = "parquet"
    merge: bool | str | Path = False
    schema: Schema | None = None

    def bind(self, output: str, stream: Stream, folder: Path) -> FileSink:
        """Make the folder."""
        if self.format not in FORMATS:
            raise RunError(f"output {output!r}: the format is {self.format!r}; expected one of {', '.join(FORMATS)}")
        own = Path(self.folder).absolute()
        merged = self.merge if isinstance(self.merge, bool) else Path(self.merge).absolute()
        for needed in (own,) if isinstance(merged, bool) else (own, merged.parent):
            try:
                needed.mkdir(parents=True, exist_ok=True)
            except OSError as trouble:
                raise RunError(f"output {output!r}: cannot make the folder {needed}: {trouble.strerror}") from None
            if not os.access(needed, os.W_OK):
                raise RunError(f"output {output!r}: no permission to write to {needed}")
        return replace(self, folder=own, merge=merged, schema=stream.schema)

    def write(self, delivery: Delivery) -> None:
        """Write the step's file, if there is anything to write."""
        if len(delivery.train):
            put_tuples(Path(self.folder) / part_name(delivery, self.format), delivery.train.tuples, self.format)

    def finish(self) -> None:
        """Merge the parts, if that is wanted."""
        if self.merge:
            put_tuples(self._merged, self.read(), self.format)

    def start_over(self) -> None:
        """Remove the parts, and the file that they were merged into."""
        for part in part_files(Path(self.folder)):
            remove(part)
        if self.merge:
            remove(self._merged)

    def read(self) -> pl.DataFrame:
        """All tuples that were written so far."""
        assert self.schema is not None
        folder = Path(self.folder)
        if self.merge and not folder.exists():
            return _read_file(self._merged, self.format, self.schema)
        return read_parts(folder, self.format, self.schema)

    @property
    def _merged(self) -> Path:
        folder = Path(self.folder)
        return folder.with_name(f"{folder.name}.{self.format}") if isinstance(self.merge, bool) else Path(self.merge)


def part_name(delivery: Delivery, suffix: str) -> str:
    """The name of the file of a step and slot; in the order of names, parts are in the order of steps."""
    return f"part-{delivery.step:09d}-{delivery.slot:03d}.{suffix}"


def part_files(folder: Path) -> list[Path]:
    """The files that a sink has put into a folder."""
    return [path for path in folder.iterdir() if _PART.fullmatch(path.name)] if folder.is_dir() else []


def put_tuples(path: Path, tuples: pl.DataFrame, suffix: str) -> None:
    """Put a file of tuples in place, whole or not at all."""

    def write(file: BinaryIO) -> None:
        if suffix == "csv":
            tuples.write_csv(file)
        else:
            tuples.write_parquet(file, compression="lz4", statistics=True)

    try:
        put_in_place(path, write)
    except OSError as trouble:
        raise RunError(
            f"cannot write {path}: {trouble.strerror or trouble}. Nothing is lost: make room or fix the folder, "
            "then start again with the same checkpoint."
        ) from None


def read_parts(folder: Path, suffix: str, schema: Schema) -> pl.DataFrame:
    """All parts in a folder, in the order of steps and slots."""
    frames = [_read_file(path, suffix, schema) for path in sorted(folder.glob(f"part-*.{suffix}"))]
    return pl.concat(frames) if frames else schema.empty()


def _read_file(path: Path, suffix: str, schema: Schema) -> pl.DataFrame:
    return pl.read_csv(path, schema=schema.polars()) if suffix == "csv" else pl.read_parquet(path)
