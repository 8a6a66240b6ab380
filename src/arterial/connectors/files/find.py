"""Which files a path stands for, and what is in them: by their names, else by their first bytes."""

from __future__ import annotations

import glob
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from arterial.errors import DataError
from arterial.storage.remote import RemotePath, is_remote

CSV, JSON, PARQUET, ARROW = "CSV", "JSON lines", "Parquet", "Arrow"

SUFFIXES = {
    "csv": CSV, "tsv": CSV, "jsonl": JSON, "ndjson": JSON, "json": JSON,
    "parquet": PARQUET, "pq": PARQUET, "arrow": ARROW, "feather": ARROW, "ipc": ARROW,
}  # fmt: skip
COMPRESSIONS = {"gz": "gzip", "zst": "zstd", "zstd": "zstd", "bz2": "bz2"}
EXPECTED = "a file of CSV, JSON lines (also .gz, .zst, .bz2), Parquet or Arrow, a folder of them, or a pattern (*.csv)"

_MAGIC = ((b"PAR1", PARQUET), (b"ARROW1", ARROW), (b"{", JSON))
_PACKED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bz2"))
_UNREADABLE = ((b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04", "a zip archive"), (b"\x04\x22\x4d\x18", "lz4"))
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
            source = self.path.open("rb") if is_remote(self.path) else str(self.path)
            return io.BufferedReader(pa.input_stream(source, compression=self.compression), _BUFFER)
        except OSError as fault:
            raise DataError(f"{self.path}: cannot be read: {fault.strerror or fault}") from None


def has_lines(first: bytes) -> bool:
    """Whether a content that begins so can be read line by line; what is packed or typed must be there as a whole."""
    return not first.startswith(tuple(magic for magic, kind in (*_MAGIC, *_PACKED, *_UNREADABLE) if kind != JSON))


def find_files(path: Path, where: str, *, may_be_none: bool = False) -> list[DataFile]:
    """The files that a path stands for, in the order of their names; all must be of one kind.

    Where there may be none yet, files come and go: then names alone say how they are compressed.
    """
    try:
        return _find_files(path, where, may_be_none)
    except OSError as fault:
        raise DataError(f"{where}: {path} cannot be looked at: {fault.strerror or fault}") from None


def _find_files(path: Path, where: str, may_be_none: bool) -> list[DataFile]:
    if path.is_file():
        return [data_file(path.absolute(), by_name=may_be_none)]
    if path.is_dir():
        folder = path.absolute()
        found = [f for f in folder.rglob("*") if f.is_file() and not _is_hidden(f.relative_to(folder)) and _is_known(f)]
    elif glob.has_magic(str(path)):
        found = [file.absolute() for file in _fitting(path) if file.is_file()]
        found = [file for file in found if not _is_hidden(Path(file.name))]
    elif may_be_none:
        return []
    else:
        what = "is not a file or folder" if path.exists() else "does not exist"
        raise DataError(f"{where}: {path} {what}; expected {EXPECTED}")
    known = [data_file(file, by_name=may_be_none) for file in sorted(found)]
    if len(kinds := sorted({file.kind for file in known})) > 1:
        raise DataError(f"{where}: {path} has files of {' and '.join(kinds)}; name those of one kind, as in *.csv")
    if known:
        return known
    if may_be_none:
        return []
    if path.is_dir():
        raise DataError(f"{where}: the folder {path} has no files with a known ending ({', '.join(SUFFIXES)})")
    raise DataError(f"{where}: no file is named {path}; expected {EXPECTED}")


def _fitting(pattern: Path) -> list[Path]:
    if not isinstance(pattern, RemotePath):
        return [Path(file) for file in glob.glob(str(pattern), recursive=True)]  # noqa: PTH207
    folder = pattern
    while glob.has_magic(folder.key):
        folder = folder.parent
    return list(folder.glob(str(pattern.relative_to(folder))))


def data_file(path: Path, *, by_name: bool = False) -> DataFile:
    """What is in a file: by its name, and by its first bytes whether and how it is compressed."""
    stem, _, suffix = path.name.lower().rpartition(".")
    if suffix in COMPRESSIONS:
        suffix = stem.rpartition(".")[2]
    kind = SUFFIXES.get(suffix)
    if kind in (PARQUET, ARROW) and path.name.lower().endswith(suffix):
        return DataFile(path, kind)
    compression = _named_compression(path) if by_name else _compression(path)
    if kind is None:
        first = _first_bytes(DataFile(path, CSV, compression)).lstrip(b"\xef\xbb\xbf \r\n")
        kind = next((kind for magic, kind in _MAGIC if first.startswith(magic)), CSV)
    if compression and kind in (PARQUET, ARROW):
        raise DataError(f"{path}: {kind} is compressed inside; unpack it with {compression}")
    return DataFile(path, kind, compression)


def _compression(path: Path) -> str | None:
    """How a file is compressed, by its first bytes; of one that has none yet, by its name."""
    first = _first_bytes(DataFile(path, CSV))
    if not first:
        return _named_compression(path)
    for magic, name in _UNREADABLE:
        if first.startswith(magic):
            raise DataError(f"{path}: is {name}; expected plain text, or text in gzip, zstd or bz2: unpack it")
    return next((name for magic, name in _PACKED if first.startswith(magic)), None)


def _named_compression(path: Path) -> str | None:
    return COMPRESSIONS.get(path.name.lower().rpartition(".")[2])


def _first_bytes(file: DataFile) -> bytes:
    try:
        with file.open() as stream:
            return stream.read(8)
    except OSError as fault:
        raise DataError(f"{file.path}: cannot be read: {fault.strerror or fault}") from None


def folder_of(path: Path) -> Path:
    """The folder in which the files of a path are."""
    while glob.has_magic(str(path)):
        path = path.parent
    return path if path.is_dir() else path.parent


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _is_known(path: Path) -> bool:
    parts = path.name.lower().split(".")
    suffix = parts[-2] if len(parts) > 2 and parts[-1] in COMPRESSIONS else parts[-1]
    return suffix in SUFFIXES
