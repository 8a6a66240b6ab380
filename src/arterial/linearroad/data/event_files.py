"""Writing events: Parquet, a file an expressway with small row groups, and the paper's flat file of 15 integers a line.

A data set is a folder with `city.json` (what made it) and `events/xway-000.parquet` … or `events.csv`.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from arterial.errors import ArterialError, DataError, MachineError
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.formats.line_writer import event_lines

CITY_FILE = "city.json"
PARQUET_FOLDER = "events"
CSV_FILE = "events.csv"

# At the busiest time of an expressway some twenty seconds; small enough to be read for the sake of one.
ROW_GROUP_ROWS = 32_768
COMPRESSION = "zstd"
# Vehicles, places and requests are nearly all different within a row group: a dictionary of them would cost, not save.
IN_DICTIONARY = ["type", "speed", "xway", "lane", "dir", "seg", "sinit", "send", "dow", "tod", "day"]


def parquet_name(xway: int) -> str:
    """The file of an expressway's events.

    >>> parquet_name(7)
    'xway-007.parquet'
    """
    return f"xway-{xway:03d}.parquet"


def write_events_parquet(path: Path, tables: Iterable[pa.Table]) -> int:
    """Write tables of events, in time order, as one Parquet file; return how many events there were."""
    with ParquetEvents(path) as file:
        for table in tables:
            file.write(table)
    return file.rows


def write_city(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write what made a data set; its presence says that the events beside it are clean."""
    with writing(folder):
        (folder / CITY_FILE).write_text(json.dumps(facts, indent=2) + "\n")


class ParquetEvents:
    """An expressway's Parquet file that grows by tables of events; row groups are of equal size whatever the tables."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        with writing(path):
            self._writer = pq.ParquetWriter(path, EVENT_SCHEMA, compression=COMPRESSION, use_dictionary=IN_DICTIONARY)

    def __enter__(self) -> ParquetEvents:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with writing(self.path):
            if kind is None:
                self._flush(everything=True)
            self._writer.close()

    def write(self, events: pa.Table) -> None:
        """Append events."""
        if events.num_rows:
            self._waiting.append(events)
            self._waiting_rows += events.num_rows
            self.rows += events.num_rows
            if self._waiting_rows >= ROW_GROUP_ROWS:
                with writing(self.path):
                    self._flush()

    def _flush(self, *, everything: bool = False) -> None:
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting)
        full = table.num_rows if everything else table.num_rows - table.num_rows % ROW_GROUP_ROWS
        self._writer.write_table(table.slice(0, full), row_group_size=ROW_GROUP_ROWS)
        # A copy, so that the rest does not keep the whole table in memory.
        rest = table.slice(full).take(np.arange(table.num_rows - full)) if full < table.num_rows else None
        self._waiting = [rest] if rest is not None else []
        self._waiting_rows = table.num_rows - full


class CsvEvents:
    """A flat file that grows by tables of events."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0
        with writing(path):
            self._file = path.open("wb")

    def __enter__(self) -> CsvEvents:
        return self

    def __exit__(self, *_: object) -> None:
        with writing(self.path):
            self._file.close()

    def write(self, events: pa.Table, xways: NDArray[np.int32] | None = None) -> None:
        """Append events, of whatever expressways."""
        with writing(self.path):
            for lines in event_lines(events):
                self._file.write(lines)
        self.rows += events.num_rows


class Expressways:
    """The Parquet files of a data set, one an expressway, opened as they are met."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[int, ParquetEvents] = {}
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Expressways:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        for file in self.files.values():
            file.__exit__(kind, *rest)

    def write(self, events: pa.Table, xways: NDArray[np.int32]) -> None:
        """Append each event to the file of its expressway."""
        if not events.num_rows:
            return
        if (xways == xways[0]).all():
            self._file(int(xways[0])).write(events)
            return
        order = np.argsort(xways, kind="stable")
        events, xways = events.take(order), xways[order]
        starts = np.flatnonzero(np.diff(xways, prepend=xways[0] - 1))
        for start, stop in zip(starts, [*starts[1:], len(xways)], strict=True):
            self._file(int(xways[start])).write(events.slice(start, stop - start))

    def _file(self, xway: int) -> ParquetEvents:
        xway = max(xway, 0)
        if xway not in self.files:
            self.files[xway] = ParquetEvents(self.folder / parquet_name(xway))
        return self.files[xway]


def new_data_set(folder: Path, form: str) -> Expressways | CsvEvents:
    """A writer of the events of a data set in one of the two formats, parquet and csv."""
    return Expressways(folder / PARQUET_FOLDER) if form == "parquet" else CsvEvents(folder / CSV_FILE)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse to a reader into an error that says which file and what to do."""
    try:
        yield
    except PermissionError as fault:
        raise DataError(f"{path}: no permission to read it") from fault
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from fault


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse into an error that says which file and what to do."""
    try:
        yield
    except OSError as fault:
        raise write_error(path, fault) from fault


def write_error(path: Path, fault: OSError) -> ArterialError:
    """Why `path` could not be written, and what to do about it."""
    if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return MachineError(f"{path}: no room left to write; free some space, or choose a folder on a larger disk")
    if fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return DataError(f"{path}: no permission to write there; choose a folder of your own")
    if fault.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return DataError(f"{path}: cannot be made, something else of that name is in the way; choose another name")
    if fault.errno == errno.EMFILE:
        return MachineError(f"{path}: too many files are open, one an expressway; allow more with `ulimit -n`")
    return MachineError(f"{path}: cannot be written: {fault.strerror or fault}")
