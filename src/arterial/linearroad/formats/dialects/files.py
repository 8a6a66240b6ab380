"""The files of an output: which they are, and their text in ranges of whole lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from arterial.errors import DataError
from arterial.linearroad.formats.dialects.dialect import FLAT_FILE

_CHUNK = 64 << 20
_OURS = re.compile(r"output.*\.csv(\.(gz|bz2|zst|lz4))?", re.IGNORECASE)
_ANYBODYS = re.compile(r"[^.]+|.*\.(csv|txt|dat|out)(\.(gz|bz2|zst|lz4))?", re.IGNORECASE)
# What a run or a system leaves beside its answers.
_BESIDE = re.compile(r"[._].*|rejects\.csv|thesis\.csv|.*\.(json|jsonl|html)", re.IGNORECASE)
_SHOWN = 5

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_NO_LINES = {
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\xfd7zXZ\x00": "compressed by xz; unpack it",
    b"PAR1": "a Parquet file; write its rows as lines",
    b"\xff\xfe": "text in UTF-16; write it in ASCII or UTF-8",
    b"\xfe\xff": "text in UTF-16; write it in ASCII or UTF-8",
}


def output_files(path: Path) -> list[Path]:
    """The output file itself, or those in a folder: `output*.csv`, else every file that could be one."""
    if not path.exists():
        raise DataError(f"{path}: no such output. Give the output file, or the folder of a run.")
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: expected a file or a folder, found a pipe or a device. Write the answers to a file.")
    there = _files_in(path)
    found = [file for file in there if _OURS.fullmatch(file.name)] or [
        file for file in there if _ANYBODYS.fullmatch(file.name) and not _BESIDE.fullmatch(file.name)
    ]
    if not found:
        raise DataError(
            f"{path}: no output in this folder: expected {FLAT_FILE}, output-0.csv … or other CSV files,"
            f" found {_names(there) or 'no file'}. A file of another name can be given itself."
        )
    return found


def left_aside(path: Path) -> str:
    """The names of files in a folder that could be answers and are not read; empty if there are none."""
    if not path.is_dir():
        return ""
    taken = set(output_files(path))
    return _names([file for file in _files_in(path) if file not in taken and not _BESIDE.fullmatch(file.name)])


def chunks_of(file: Path, size: int = _CHUNK) -> Iterator[tuple[int, int]]:
    """Ranges of bytes of about `size`, each of whole lines; a compressed file is one range."""
    try:
        end = file.stat().st_size
        with file.open("rb") as source:
            if _compression(file, source.read(8)):
                size = end
            start = 0
            while start < end:
                source.seek(min(start + size, end))
                source.readline()
                yield start, source.tell()
                start = source.tell()
    except OSError as fault:
        raise DataError(f"{file}: cannot be read ({fault.strerror}).") from fault


def read_chunk(file: Path, start: int, stop: int) -> bytes:
    """The text of a range of a file, unpacked, without a mark of its encoding."""
    try:
        with file.open("rb") as source:
            compression = _compression(file, source.read(8))
            source.seek(start)
            text = source.read(stop - start)
    except OSError as fault:
        raise DataError(f"{file}: cannot be read ({fault.strerror}).") from fault
    if compression:
        try:
            text = pa.input_stream(pa.py_buffer(text), compression=compression).read()
        except (OSError, pa.ArrowInvalid) as fault:
            raise DataError(f"{file}: compressed by {compression}, and damaged or cut short ({fault}).") from fault
    return text if start else text.removeprefix(BYTE_ORDER_MARK)


def _compression(file: Path, begin: bytes) -> str | None:
    """How a file that begins so is compressed; raises if it cannot hold lines."""
    for mark, what in _NO_LINES.items():
        if begin.startswith(mark):
            raise DataError(f"{file}: expected lines of text, found {what}.")
    return next((name for mark, name in _COMPRESSIONS.items() if begin.startswith(mark)), None)


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.is_file())
    except OSError as fault:
        raise DataError(f"{folder}: cannot read the folder ({fault.strerror}).") from fault


def _names(files: list[Path]) -> str:
    more = f" and {len(files) - _SHOWN:,} more" if len(files) > _SHOWN else ""
    return ", ".join(file.name for file in files[:_SHOWN]) + more
