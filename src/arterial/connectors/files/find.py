"""Which files a path stands for, and what is in them: by their names, else by their first bytes."""

from __future__ import annotations

import glob
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from arterial.errors import DataError

CSV, JSON, PARQUET, ARROW = "CSV", "JSON lines", "Parquet", "Arrow"

SUFFIXES = {
    "csv": CSV, "tsv": CSV, "jsonl": JSON, "ndjson": JSON, "json": JSON,
    "parquet": PARQUET, "pq": PARQUET, "arrow": ARROW, "feather": ARROW, "ipc": ARROW,
}  # fmt: skip
COMPRESSIONS = {"gz": "gzip", "zst": "zstd", "zstd": "zstd", "bz2": "bz2"}
EXPECTED = "a file of CSV, JSON lines (also .gz, .zst, .bz2), Parquet or Arrow, a folder of them, or a pattern (*.csv)"

_MAGIC = ((b"PAR1", PARQUET), (b"ARROW1", ARROW), (b"{", JSON))
_ENDS = 65_536
_BUFFER = 1024 * 1024


@dataclass(frozen=True)
class DataFile:
    """A file, what is in it, and how it is compressed, if it is."""

    path: Path
    kind: str
    compression: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether it has lines; the others have typed columns."""
        return self.kind in (CSV, JSON)

    @property
    def can_grow(self) -> bool:
        """Whether lines may be appended while it is read."""
        return self.is_text and self.compression is None

    def open(self) -> BinaryIO:
        """Its bytes, unpacked."""
        try:
            if self.compression is None:
                return self.path.open("rb")
            return io.BufferedReader(pa.input_stream(str(self.path), compression=self.compression), _BUFFER)
        except OSError as fault:
            raise DataError(f"{self.path}: cannot be read: {fault.strerror or fault}") from None


@dataclass(frozen=True)
class Fingerprint:
    """By what it is seen that a file did not change: its size, and its time of change or its first and last bytes."""

    size: int
    changed: int
    ends: str

    def fits(self, other: Fingerprint) -> bool:
        """Whether it is the same content."""
        return self.size == other.size and (self.changed == other.changed or self.ends == other.ends)


def find_files(path: Path, where: str, *, may_be_none: bool = False) -> list[DataFile]:
    """The files that a path stands for, in the order of their names.

    Of a folder all files of one kind: the first there is of Parquet, Arrow, CSV and JSON lines.
    """
    if path.is_file():
        return [data_file(path.absolute())]
    if path.is_dir():
        found = [file for file in path.absolute().rglob("*") if file.is_file()]
    elif glob.has_magic(str(path)):
        found = [Path(file).absolute() for file in glob.glob(str(path), recursive=True) if Path(file).is_file()]  # noqa: PTH207
    elif may_be_none:
        return []
    else:
        raise DataError(f"{where}: {path} does not exist; expected {EXPECTED}")
    known = [data_file(f) for f in sorted(found) if not f.name.startswith((".", "_")) and (path.is_dir() <= _known(f))]
    for kind in (PARQUET, ARROW, CSV, JSON):
        if some := [file for file in known if file.kind == kind]:
            return some
    if may_be_none:
        return []
    if path.is_dir():
        raise DataError(f"{where}: the folder {path} has no files with a known ending ({', '.join(SUFFIXES)})")
    raise DataError(f"{where}: no file is named {path}; expected {EXPECTED}")


def data_file(path: Path) -> DataFile:
    """What is in a file."""
    stem, _, suffix = path.name.lower().rpartition(".")
    compression = COMPRESSIONS.get(suffix)
    if compression:
        suffix = stem.rpartition(".")[2]
    kind = SUFFIXES.get(suffix)
    if kind is None:
        with DataFile(path, CSV, compression).open() as file:
            first = file.read(8).lstrip(b"\xef\xbb\xbf \r\n")
        kind = next((kind for magic, kind in _MAGIC if first.startswith(magic)), CSV)
    if compression and kind in (PARQUET, ARROW):
        raise DataError(f"{path}: {kind} is compressed inside; unpack it with {compression}")
    return DataFile(path, kind, compression)


def fingerprint(path: Path, size: int | None = None) -> Fingerprint:
    """The fingerprint of a file, or of its first bytes."""
    stat = path.stat()
    size = stat.st_size if size is None else size
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(min(_ENDS, size)))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(min(_ENDS, size)))
    return Fingerprint(size, stat.st_mtime_ns if size == stat.st_size else 0, digest.hexdigest())


def _known(path: Path) -> bool:
    parts = path.name.lower().split(".")
    suffix = parts[-2] if len(parts) > 2 and parts[-1] in COMPRESSIONS else parts[-1]
    return suffix in SUFFIXES
