"""Exactly-once files: one for each step and slot, named by them, written aside and put in place whole.

A step that is run again after a failure writes the same names with the same content. `compaction` merges small ones.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import polars as pl

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.files.compaction import all_files, compact, join, visible_files
from arterial.connectors.sinks.files.json_lines import read_json_lines, write_json_lines
from arterial.connectors.sinks.files.retention import remove_old, seconds_of
from arterial.connectors.sinks.owner import claim, foreign, owner_of
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.duration import Duration
from arterial.network.schema import Schema
from arterial.storage.place import make_folder, put_in_place, refresh_listing, remove, remove_drafts
from arterial.storage.remote import is_remote, path_of, readable

FORMATS = ("parquet", "csv", "jsonl")
LISTED_SECONDS = 90.0
RECEIVED = 4096
"""Files of the last minutes: older ones are listed by now."""


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes an output into a folder, as Parquet, CSV or JSON lines.

    `merge` puts all into one file when the run ends: a path, or True for one beside the folder, of its name. `compact`
    merges the small parts of finished steps into larger ones while it runs. `keep` says how long files stay in a
    folder, by the clock, as in "7 days"; None: for ever.
    """

    folder: str | Path
    format: str = "parquet"
    merge: bool | str | Path = False
    schema: Schema | None = None
    compact: bool = False
    keep: Duration | None = None
    received: deque[str] = field(default_factory=lambda: deque(maxlen=RECEIVED), compare=False, repr=False)
    """Only on the driver: the last parts that tasks wrote and that were not yet looked for in the folder."""

    def bind(self, output: str, stream: Stream, folder: Path) -> FileSink:
        """Make the folder."""
        if self.format not in FORMATS:
            raise RunError(f"output {output!r}: the format is {self.format!r}; expected one of {', '.join(FORMATS)}")
        if self.keep is not None:
            seconds_of(self.keep, f"output {output!r}")
            if self.merge:
                raise RunError(f"output {output!r}: one file is made of all parts, so none may go; leave out keep")
        own = path_of(self.folder).absolute()
        merged = self.merge if isinstance(self.merge, bool) else path_of(self.merge).absolute()
        for needed in (own.parent,) if isinstance(merged, bool) else (own.parent, merged.parent):
            _make_folder(needed, output)
        parts = part_files(own)
        if other := next((path for path in parts if path.suffix != f".{self.format}"), None):
            raise RunError(
                f"output {output!r}: {own} holds {other.name}, and the format is now {self.format}; a folder has one "
                "format. Give the earlier one, or another folder"
            )
        claim(own, folder, output, kept=bool(parts))
        _make_folder(own, output)
        return replace(self, folder=own, merge=merged, schema=stream.schema)

    def write(self, delivery: Delivery) -> str | None:
        """Write the step's file, if there is anything to write."""
        if not len(delivery.train):
            return None
        name = part_name(delivery, self.format)
        put_tuples(path_of(self.folder) / name, delivery.train.tuples, self.format)
        return name

    def receive(self, step: int, receipt: str) -> None:
        """Know of a part that a task wrote: what is merged must list it first."""
        self.received.append(receipt)

    def commit(self, step: int) -> None:
        """Merge small parts of the steps before this one, and remove old ones, if that is wanted."""
        if self.compact:
            assert self.schema is not None
            self._until_listed()
            with writing_part(path_of(self.folder)):
                compact(path_of(self.folder), self.format, self.schema, step)
        if self.keep is not None:
            with writing_part(path_of(self.folder)):
                remove_old(path_of(self.folder), seconds_of(self.keep, str(self.folder)), step)

    def finish(self) -> None:
        """Merge the parts, if that is wanted, and remove what killed tasks left."""
        remove_drafts(path_of(self.folder))
        if self.merge:
            assert self.schema is not None
            self._until_listed()
            schema, paths = self.schema, [file.path for file in visible_files(path_of(self.folder))]
            with writing_part(self._merged):
                put_in_place(self._merged, lambda file: join(paths, self.format, schema, file))

    def start_over(self) -> None:
        """Remove the parts, and the file that they were merged into."""
        for part in part_files(path_of(self.folder)):
            remove(part)
        if self.merge:
            remove(self._merged)

    def read(self) -> pl.DataFrame:
        """All tuples that were written so far."""
        assert self.schema is not None
        folder = path_of(self.folder)
        if self.merge and not folder.exists():
            return _read_file(self._merged, self.format, self.schema)
        return read_parts(folder, self.format, self.schema)

    def _until_listed(self) -> None:
        """Wait until the folder lists what tasks wrote; over a network a listing may be a minute old."""
        until = time.monotonic() + LISTED_SECONDS
        while missing := {*self.received} - {path.name for path in path_of(self.folder).iterdir()}:
            if time.monotonic() > until:
                raise RunError(
                    f"{self.folder}: a worker wrote {min(missing)}, but the driver does not see it there. The folder "
                    "must be the same on all machines. Nothing is lost: fix that, then start again with the same "
                    "checkpoint."
                )
            refresh_listing(path_of(self.folder))
            time.sleep(0.2)
        self.received.clear()

    @property
    def _merged(self) -> Path:
        folder = path_of(self.folder)
        return folder.with_name(f"{folder.name}.{self.format}") if isinstance(self.merge, bool) else path_of(self.merge)


def part_name(delivery: Delivery, suffix: str) -> str:
    """The name of the file of a step and slot; in the order of names, parts are in the order of steps."""
    return f"part-{delivery.step:09d}-{delivery.slot:03d}.{suffix}"


def part_files(folder: Path) -> list[Path]:
    """The files that a sink has put into a folder."""
    return [file.path for file in all_files(folder)]


def clear(folder: Path, output: str) -> None:
    """Remove the parts in a folder; raise if they belong to a run that can go on."""
    owner = owner_of(folder)
    if owner is not None and owner.exists:
        raise foreign(folder, output, owner)
    for path in part_files(folder):
        remove(path)


def put_tuples(path: Path, tuples: pl.DataFrame, suffix: str) -> None:
    """Put a file of tuples in place, whole or not at all."""

    def write(file: BinaryIO) -> None:
        if suffix == "csv":
            tuples.write_csv(file)
        elif suffix == "jsonl":
            write_json_lines(tuples, file)
        else:
            tuples.write_parquet(file, compression="lz4", statistics=True)

    with writing_part(path):
        put_in_place(path, write)


def read_parts(folder: Path, suffix: str, schema: Schema) -> pl.DataFrame:
    """All parts in a folder, in the order of steps and slots."""
    while True:
        paths = [file.path for file in visible_files(folder) if file.path.suffix == f".{suffix}"]
        try:
            frames = [_read_file(path, suffix, schema) for path in paths]
        except FileNotFoundError:  # merged in the meantime: the merged file is there now
            continue
        return pl.concat(frames) if frames else schema.empty()


def _make_folder(path: Path, output: str) -> None:
    try:
        make_folder(path)
    except OSError as trouble:
        raise RunError(f"output {output!r}: cannot make the folder {path}: {trouble.strerror or trouble}") from None
    if not is_remote(path) and not os.access(path, os.W_OK):
        raise RunError(f"output {output!r}: no permission to write to {path}")


def _read_file(path: Path, suffix: str, schema: Schema) -> pl.DataFrame:
    if suffix == "jsonl":
        return read_json_lines(path, schema)
    source = readable(path)
    return pl.read_csv(source, schema=schema.polars()) if suffix == "csv" else pl.read_parquet(source)


@contextmanager
def writing_part(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse into an error that says what to do."""
    try:
        yield
    except OSError as trouble:
        raise RunError(
            f"cannot write {path}: {trouble.strerror or trouble}. Nothing is lost: make room or fix the folder, "
            "then start again with the same checkpoint."
        ) from None
