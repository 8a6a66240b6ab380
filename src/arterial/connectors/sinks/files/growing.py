"""One CSV or JSON lines file that grows with every step, each tuple in it exactly once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.files.appended import AppendedSink
from arterial.connectors.sinks.files.json_lines import read_json_lines, write_json_lines
from arterial.connectors.sinks.owner import claim, owner_of
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.storage.appended import JOURNAL, AppendedFiles, append_to, writing
from arterial.storage.place import make_folder
from arterial.storage.remote import is_remote

FORMATS = ("csv", "jsonl")


@dataclass(frozen=True)
class GrowingSink(AppendedSink):
    """Appends what arrives to a file, step by step and slot by slot; a CSV file begins with a header.

    A file that is there when a new run starts is replaced, unless it belongs to a run that can go on.
    """

    format: str = "csv"
    schema: Schema | None = None

    @classmethod
    def at(cls, path: str | Path) -> GrowingSink:
        """The sink for a .csv or .jsonl file."""
        if is_remote(path):
            raise RunError(f"{path}: files of a store cannot grow; write a folder of parts, or leave out grow")
        path = Path(path).absolute()
        suffix = path.suffix.removeprefix(".").lower()
        if suffix not in FORMATS:
            raise RunError(
                f"{path}: a file that grows ends in {' or '.join(f'.{one}' for one in FORMATS)}; Parquet files cannot "
                "grow: write a folder of parts, or leave out grow to get one file at the end of the run"
            )
        return cls(AppendedFiles({"0": path}), format=suffix)

    def bind(self, output: str, stream: Stream, folder: Path) -> GrowingSink:
        """Cut the file back to where the run goes on; begin a new one with its header."""
        with writing(self._path):
            make_folder(self._path.parent)
        began = (folder / "sinks" / output / JOURNAL).exists()
        claim(self._path, folder, output, kept=began and owner_of(self._path) is not None)
        super().bind(output, stream, folder)
        header = stream.schema.empty().write_csv().encode()
        with writing(self._path):
            if self.format == "csv" and self.files.step < 0:
                append_to(self._path, BytesIO(header))
            elif self.format == "csv" and not _begins_with(self._path, header):
                raise RunError(
                    f"output {output!r}: {self._path} begins with other columns than {', '.join(stream.schema.names)}; "
                    "write the changed network's output to another file"
                )
        return replace(self, schema=stream.schema)

    def write_lines(self, delivery: Delivery, file: BinaryIO) -> None:
        """Write the tuples as lines."""
        if self.format == "csv":
            delivery.train.tuples.write_csv(file, include_header=False)
        else:
            write_json_lines(delivery.train.tuples, file)

    def read(self) -> pl.DataFrame:
        """All tuples of the steps that were committed so far."""
        assert self.schema is not None
        with self._path.open("rb") as file:
            content = file.read(self.files.sizes[self._path.name])
        if self.format == "jsonl":
            return read_json_lines(content, self.schema)
        return pl.read_csv(content, schema=self.schema.polars()) if content else self.schema.empty()

    @property
    def _path(self) -> Path:
        return self.files.files["0"]


def _begins_with(path: Path, header: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(header)) == header
