"""The tasks of the Spark job that makes a history: a weekday of an expressway, or all days of some thousand vehicles.

A task writes its own part of a table, and its own cells of the look-up. What a row holds depends on the seed and on the
row's key alone, see `kernels/history_model.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from arterial.linearroad.history.columns import column_header, reserve
from arterial.linearroad.history.lookup import CELLS_FILE, FOLDER, XWAY_CELLS
from arterial.linearroad.history.model import demand, segment_day, vehicle_tolls
from arterial.linearroad.history.tables import SEGMENT_HISTORY, TOLL_HISTORY
from arterial.linearroad.history.travel_time import WEEKDAYS
from arterial.linearroad.semantics.city import HISTORY_DAYS, LAST_EXPENDITURE_DAY, MINUTES_A_DAY, SEGMENTS

Form = Literal["parquet", "csv"]

SEGMENT_ROWS_A_DAY = MINUTES_A_DAY * 2 * SEGMENTS

PAIRS_A_TASK = 16_384
_CELLS_BYTES = int(np.prod(XWAY_CELLS)) * 4


@dataclass(frozen=True)
class Task:
    """A piece of the work: of tolls, the pairs from `first` to `after`; of segments, `first` is the place of `xway`."""

    kind: Literal["segments", "tolls"]
    folder: Path
    seed: int
    form: Form
    rows: int
    first: int
    after: int = 0
    xway: int = 0
    weekday: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a task found: how many rows of SegmentHistory have a toll, or the fault that the disk made."""

    tolled: int = 0
    fault: tuple[int, str, str] | None = None


def parts_of(folder: Path, name: str) -> Path:
    """Where the tasks put the parts of a table."""
    return folder / f"{name}.parts"


def plan_segments(xways: tuple[int, ...], folder: Path, seed: int, form: Form) -> list[Task]:
    """A task for each weekday of each expressway; lays out the file of cells that they all write to."""
    parts_of(folder, "segments").mkdir()
    with (folder / FOLDER / CELLS_FILE).open("wb") as cells:
        header = column_header(np.dtype(np.int32), (len(xways), *XWAY_CELLS))
        reserve(cells, len(header) + len(xways) * _CELLS_BYTES)
        cells.seek(0)
        cells.write(header)
    rows = HISTORY_DAYS // WEEKDAYS * SEGMENT_ROWS_A_DAY
    return [
        Task("segments", folder, seed, form, rows=rows, first=place, xway=xway, weekday=weekday)
        for place, xway in enumerate(xways)
        for weekday in range(1, WEEKDAYS + 1)
    ]


def plan_tolls(vid: NDArray[np.int64], xway: NDArray[np.int32], folder: Path, seed: int, form: Form) -> list[Task]:
    """A task for each few thousand of the ascending pairs (vehicle, expressway), which are put where it finds them."""
    parts_of(folder, "tolls").mkdir()
    np.save(folder / "vid.npy", vid)
    np.save(folder / "xway.npy", xway)
    return [
        Task("tolls", folder, seed, form, rows=(after - first) * LAST_EXPENDITURE_DAY, first=first, after=after)
        for first, after in _cut(vid)
    ]


def _cut(vid: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pieces of the pairs that leave the pairs of one vehicle together."""
    first = 0
    while first < len(vid):
        at = min(first + PAIRS_A_TASK, len(vid)) - 1
        after = int(np.searchsorted(vid, vid[at], side="right"))
        yield first, after
        first = after


def perform(task: Task) -> Outcome:
    """One task. A fault of the disk is its outcome, so that the driver can say it without Spark's traceback."""
    try:
        return _make_segments(task) if task.kind == "segments" else _make_tolls(task)
    except OSError as fault:
        where = fault.filename if isinstance(fault.filename, str) else str(task.folder)
        return Outcome(fault=(fault.errno or 0, fault.strerror or str(fault), where))


def _make_segments(task: Task) -> Outcome:
    """One weekday of one expressway: its rows, and its cells of the look-up."""
    shape = demand(task.weekday)
    sums = np.zeros((MINUTES_A_DAY, 2, SEGMENTS, 4), np.int32)
    tolled = 0
    minute, dir_, seg = np.indices((MINUTES_A_DAY, 2, SEGMENTS), dtype=np.int16).reshape(3, -1)
    xway = np.full(SEGMENT_ROWS_A_DAY, task.xway)
    with _Parts(task, SEGMENT_HISTORY.schema, f"xway-{task.xway:03}-weekday-{task.weekday}") as parts:
        for day in range(task.weekday, HISTORY_DAYS + 1, WEEKDAYS):
            lav, cnt, toll = segment_day(task.seed, day, task.xway, shape)
            sums += np.stack([lav, lav > 0, cnt, np.ones_like(cnt)], axis=-1)
            tolled += int(np.count_nonzero(toll))
            columns = [np.full(SEGMENT_ROWS_A_DAY, day), minute + 1, xway, dir_, seg]
            columns += [lav.ravel(), cnt.ravel(), toll.ravel()]
            parts.write(f"day-{day:02}-xway-{task.xway:05}", columns)
    _write_cells(task, sums)
    return Outcome(tolled)


def _write_cells(task: Task, sums: NDArray[np.int32]) -> None:
    slab = _CELLS_BYTES // (2 * WEEKDAYS)
    with (task.folder / FOLDER / CELLS_FILE).open("r+b") as cells:
        xway_at = len(column_header(np.dtype(np.int32), (1, *XWAY_CELLS))) + task.first * _CELLS_BYTES
        for dir_ in (0, 1):
            cells.seek(xway_at + (dir_ * WEEKDAYS + task.weekday - 1) * slab)
            cells.write(np.ascontiguousarray(sums[:, dir_]).data)


def _make_tolls(task: Task) -> Outcome:
    """All days of some thousand vehicles."""
    vid, xway = (
        np.ascontiguousarray(np.load(task.folder / f"{name}.npy", mmap_mode="r")[task.first : task.after])
        for name in ("vid", "xway")
    )
    columns = vehicle_tolls(task.seed, vid, xway)
    name = f"from-{task.first:010}"
    with _Parts(task, TOLL_HISTORY.schema, name) as parts:
        parts.write(name, list(columns))
    return Outcome()


class _Parts:
    """Writes the rows of a task: one Parquet file with a row group for each piece, or a CSV file for each piece."""

    def __init__(self, task: Task, schema: pa.Schema, parquet_name: str) -> None:
        self.folder, self.schema = parts_of(task.folder, task.kind), schema
        self._writer: pa.parquet.ParquetWriter | None = None
        if task.form == "parquet":
            path = self.folder / f"{parquet_name}.parquet"
            self._writer = pa.parquet.ParquetWriter(path, schema, compression="zstd", compression_level=1)

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            self._writer.close()

    def write(self, csv_name: str, columns: list[NDArray[Any]]) -> None:
        """Add a piece."""
        arrays = [
            pa.array(column.astype(field.type.to_pandas_dtype(), copy=False))
            for column, field in zip(columns, self.schema, strict=True)
        ]
        piece = pa.record_batch(arrays, schema=self.schema)
        if self._writer:
            self._writer.write_batch(piece, row_group_size=len(piece))
        else:
            pa.csv.write_csv(piece, self.folder / f"{csv_name}.csv", pa.csv.WriteOptions(include_header=False))
