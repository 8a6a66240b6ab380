"""Finding and reading events: our folders, the files of 2004 and Walmart's, CSV and Parquet, one file or many.

Every file is cleaned on its own; several (a file an expressway, or pieces one after the other) are merged by time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.linearroad.data.cleaning import Cleaned, Cleaner, concatenated
from arterial.linearroad.data.event_files import CITY_FILE, CSV_FILE, PARQUET_FOLDER, reading
from arterial.linearroad.data.irregular import Watch, Watched
from arterial.linearroad.formats.dialects import BYTE_ORDER_MARK
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.formats.line_writer import event_lines
from arterial.linearroad.formats.thesis import ThesisLines

PIECE_BYTES = 8 << 20
PIECE_ROWS = 200_000
LINE_FILE = re.compile(r"\.(csv|dat|txt|out\d*)(\.(gz|bz2|zst|lz4))?$", re.IGNORECASE)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

# Names that others give to our columns.
ALIASES = {"spd": "speed", "s_init": "sinit", "s_end": "send", "direction": "dir", "segment": "seg", "position": "pos"}


@dataclass(frozen=True)
class Piece:
    """Some clean events in time order, what was noticed about them, and the lines set aside meanwhile."""

    events: pa.Table
    watched: Watched
    rejects: list[Reject]


def is_data_set(path: Path) -> bool:
    """Whether `path` is a folder of Parquet events that we wrote, clean and in order."""
    with reading(path):
        return (path / CITY_FILE).is_file() and (path / PARQUET_FOLDER).is_dir()


def files_of(path: Path) -> list[Path]:
    """The files of events that `path` means."""
    with reading(path):
        if not path.exists():
            raise DataError(f"{path}: no such file or folder; give a data set's folder, or a CSV or Parquet file")
        if not path.is_dir():
            return [path]
        if (path / PARQUET_FOLDER).is_dir():
            path = path / PARQUET_FOLDER
        elif (path / CSV_FILE).is_file():
            return [path / CSV_FILE]
        names = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    files = [file for file in names if file.suffix == ".parquet"] or [
        file for file in names if LINE_FILE.search(file.name) and "rejects" not in file.name
    ]
    if not files:
        raise DataError(f"{path}: no events in this folder; expected files named *.parquet, *.csv, *.dat, *.txt, *.out")
    return files


class EventFile:
    """One file of events, read and cleaned piece by piece."""

    def __init__(self, path: Path, *, disorder: int = 0) -> None:
        self.path = path
        self.cleaner = Cleaner(disorder=disorder, file=path.name)
        self.bytes_done = 0.0
        self.finished = False
        self._thesis: ThesisLines | None = None
        self._inputs = self._parquet() if path.suffix == ".parquet" else self._lines()

    def next_piece(self) -> Cleaned:
        """Read on; after the last piece the file is `finished`."""
        with reading(self.path):
            data = next(self._inputs, None)
        if data is not None:
            return self._as_written(self.cleaner.feed(data))
        self.finished = True
        return self.cleaner.finish()

    def _lines(self) -> Iterator[bytes]:
        compression = COMPRESSIONS.get(self.path.suffix.lower())
        with self.path.open("rb") as raw:
            stream: Any = pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression) if compression else raw
            first = True
            while data := stream.read(PIECE_BYTES):
                if first and b"\0" in data[:65536]:
                    raise DataError(
                        f"{self.path}: this is no text; expected lines of 15 integers, or Parquet named *.parquet"
                    )
                if first:
                    data = data.removeprefix(BYTE_ORDER_MARK)
                    self._thesis = ThesisLines.of(data)
                first = False
                yield self._thesis.translate(data) if self._thesis else data
                self.bytes_done = raw.tell() if raw.seekable() else self.bytes_done + len(data)
            if self._thesis:
                yield self._thesis.finish()

    def _as_written(self, cleaned: Cleaned) -> Cleaned:
        """Lines that were set aside with the text that stands in the file, not with its translation."""
        if self._thesis is None:
            return cleaned
        text = self._thesis.text
        return replace(cleaned, rejects=[one._replace(text=text(one.line)) for one in cleaned.rejects])

    def _parquet(self) -> Iterator[bytes]:
        try:
            file = pq.ParquetFile(self.path)
        except pa.ArrowInvalid as fault:
            raise DataError(f"{self.path}: not a Parquet file, or a damaged one: {fault}") from fault
        names = {ALIASES.get(name.lower(), name.lower()): name for name in file.schema_arrow.names}
        if missing := [name for name in EVENT_SCHEMA.names if name not in names]:
            raise DataError(
                f"{self.path}: the columns {', '.join(missing)} are missing; expected {', '.join(EVENT_SCHEMA.names)}"
            )
        columns = [names[name] for name in EVENT_SCHEMA.names]
        size, rows, done = self.path.stat().st_size, max(file.metadata.num_rows, 1), 0
        for part in file.iter_batches(PIECE_ROWS, columns=columns):
            yield as_lines(part.select(columns))
            done += part.num_rows
            self.bytes_done = size * done / rows


def as_lines(rows: pa.RecordBatch) -> bytes:
    """Rows of any types as lines, so that they are judged like any others."""
    lines = pa.BufferOutputStream()
    pa.csv.write_csv(rows, lines, pa.csv.WriteOptions(include_header=False))
    return bytes(lines.getvalue())


class Sources:
    """All files that a path means as one stream of clean events in time order."""

    def __init__(self, path: Path, *, disorder: int = 0) -> None:
        self.path = path
        self.files = [EventFile(file, disorder=disorder) for file in files_of(path)]
        self.watch = Watch()
        if all(file.path.is_file() and not file.path.stat().st_size for file in self.files):
            raise DataError(f"{path}: the file is empty" if path.is_file() else f"{path}: all files in it are empty")

    def pieces(self, progress: Callable[[float], None] | None = None) -> Iterator[Piece]:
        """The stream; `progress` gets how many bytes are done."""
        for cleaned, files in merged(self.files):
            watched = self.watch.look_at(cleaned.events)
            rejects = cleaned.rejects
            events = cleaned.events
            if watched.repeats.any():
                rejects = [*rejects, *self._repeated(cleaned, files, watched)]
                kept = np.flatnonzero(~watched.repeats)
                events = events.take(kept)
                watched = Watched(watched.xways[kept], watched.repeats[kept])
            yield Piece(events, watched, rejects)
            if progress:
                progress(sum(file.bytes_done for file in self.files))

    def _repeated(self, cleaned: Cleaned, files: Any, watched: Watched) -> list[Reject]:
        """Reports of a vehicle that has one in another file in the same second; their text is written again."""
        rows = np.flatnonzero(watched.repeats)
        texts = b"".join(event_lines(cleaned.events.take(rows))).decode().splitlines()
        reason = "report of a vehicle that another file has in this second"
        return [
            Reject(int(cleaned.lines[row]), reason, text, self.files[files[row]].path.name)
            for row, text in zip(rows, texts, strict=True)
        ]


def one_ahead(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same pieces, the next one made by another thread while the last is worked on; the kernels let both run."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = thread.submit(next, pieces, None)
            yield piece


def merged(files: list[EventFile]) -> Iterator[tuple[Cleaned, Any]]:
    """The files' events merged by time, those of an earlier file first; beside each event the place of its file.

    The file that lags behind is read on, so that at most a piece of each is held.
    """
    if len(files) == 1:
        while not files[0].finished:
            piece = files[0].next_piece()
            yield piece, np.zeros(piece.events.num_rows, np.int32)
        return
    waiting: list[list[Cleaned]] = [[] for _ in files]
    while unfinished := [place for place, file in enumerate(files) if not file.finished]:
        lagging = min(unfinished, key=lambda place: files[place].cleaner.complete_until)
        piece = files[lagging].next_piece()
        waiting[lagging].append(piece)
        until = min((file.cleaner.complete_until for file in files if not file.finished), default=None)
        ready = []
        for place in range(len(files)):
            whole = concatenated(waiting[place])
            times = whole.events["time"].to_numpy()
            stop = len(times) if until is None else int(np.searchsorted(times, until))
            ready.append((place, whole, stop))
        if until is not None and not any(stop for _, _, stop in ready) and not piece.rejects:
            continue
        parts = [Cleaned(whole.events.slice(0, stop), whole.lines[:stop], whole.rejects) for _, whole, stop in ready]
        waiting = [[Cleaned(whole.events.slice(stop), whole.lines[stop:], [])] for _, whole, stop in ready]
        together = concatenated(parts)
        order = np.argsort(together.events["time"].to_numpy(), kind="stable")
        places = np.concatenate([np.full(stop, place, np.int32) for place, _, stop in ready])
        yield Cleaned(together.events.take(order), together.lines[order], together.rejects), places[order]
