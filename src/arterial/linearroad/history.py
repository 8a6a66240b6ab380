"""Makes the history of a city (VLDB 2004, §3.1.3) as a Spark job: TollHistory, SegmentHistory and their look-up form.

A task makes either one weekday of one expressway or some thousand vehicles, writes its part of the tables and adds its
part to the look-up. What a row holds depends on the seed and on the row's key alone, see `kernels/history_model.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from arterial import __version__
from arterial.errors import DataError
from arterial.linearroad.city import HISTORY_DAYS, LAST_EXPENDITURE_DAY, MINUTES_A_DAY, SEGMENTS
from arterial.linearroad.history_tables import SEGMENT_HISTORY, TOLL_HISTORY
from arterial.linearroad.kernels.history_model import demand, segment_day, vehicle_tolls
from arterial.linearroad.kernels.travel_time import WEEKDAYS
from arterial.linearroad.lookup import FOLDER, XWAY_CELLS, TollLookup, save_segment_meta
from arterial.linearroad.storage import column_header, machine_fault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Form = Literal["parquet", "csv"]

FACTS = "history.json"
SEGMENT_ROWS_A_DAY = MINUTES_A_DAY * 2 * SEGMENTS

_PAIRS_A_TASK = 16_384
_PARTIAL = ".history-partial"
_CELLS_BYTES = int(np.prod(XWAY_CELLS)) * 4


@dataclass(frozen=True)
class Vehicles:
    """Ascending pairs (vehicle, expressway) for TollHistory, and the expressways for SegmentHistory."""

    vid: NDArray[np.int64]
    xway: NDArray[np.int32]
    xways: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows both tables have together."""
        return len(self.vid) * LAST_EXPENDITURE_DAY + len(self.xways) * HISTORY_DAYS * SEGMENT_ROWS_A_DAY


@dataclass(frozen=True)
class HistoryFacts:
    """What was made: written beside it as `history.json`."""

    version: str
    seed: int
    format: Form
    vehicles: int
    xways: tuple[int, ...]
    toll_rows: int
    segment_rows: int
    tolled_share: float
    mean_lav: float
    mean_cnt: float


def counted_vehicles(vehicles: int, xways: int) -> Vehicles:
    """Vehicles 0, 1, … on each of the expressways 0, 1, …"""
    vid = np.repeat(np.arange(vehicles, dtype=np.int64), xways)
    xway = np.tile(np.arange(xways, dtype=np.int32), vehicles)
    return Vehicles(vid, xway, tuple(range(xways)))


def make_history(
    spark: SparkSession,
    vehicles: Vehicles,
    out: Path,
    *,
    seed: int,
    form: Form = "parquet",
    force: bool = False,
    progress: Callable[[int], None] = lambda rows: None,
) -> HistoryFacts:
    """Make the history of these vehicles in the folder `out`; `progress` is told the rows made so far.

    The folder may hold other things; a history in it is replaced only with `force`. Nothing is put in place before all
    is made.
    """
    there = [out / name for name in _NAMES if (out / name).exists()]
    if there and not force:
        raise DataError(
            f"{out} already holds a history ({there[0].name}). Give --force to replace it, or another folder."
        )
    if len(vehicles.vid) == 0:
        raise DataError("A history needs at least one vehicle; there is none.")
    partial = out / _PARTIAL
    try:
        _remove(partial)
        (partial / FOLDER).mkdir(parents=True)
        tasks = _plan(vehicles, partial, seed, form)
        statistics = _run(spark, tasks, progress)
        facts = _facts(vehicles, statistics, seed, form)
        _finish(partial, vehicles, form, facts)
        for path in there:
            _remove(path)
        for made in partial.iterdir():
            made.replace(out / made.name)
    except OSError as fault:
        raise machine_fault(fault, out, "write") from fault
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return facts


_NAMES = ("tolls.parquet", "tolls.csv", "segments.parquet", "segments.csv", FOLDER, FACTS)


@dataclass(frozen=True)
class _Task:
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
class _Outcome:
    """What a task found: sums for the facts, or the fault that the disk made."""

    tolled_rows: int = 0
    lav_sum: int = 0
    cars_sum: int = 0
    fault: tuple[int, str, str] | None = None


def _plan(vehicles: Vehicles, folder: Path, seed: int, form: Form) -> list[_Task]:
    """Cut the work into tasks, and lay out the files that several of them write to."""
    for name in ("tolls", "segments"):
        (folder / f"{name}.parts").mkdir()
    np.save(folder / "vid.npy", vehicles.vid)
    np.save(folder / "xway.npy", vehicles.xway)
    with (folder / FOLDER / "segments-cells.npy").open("wb") as cells:
        header = column_header(np.dtype(np.int32), (len(vehicles.xways), *XWAY_CELLS))
        cells.write(header)
        cells.flush()
        os.posix_fallocate(cells.fileno(), 0, len(header) + len(vehicles.xways) * _CELLS_BYTES)
    segments = [
        _Task(
            "segments",
            folder,
            seed,
            form,
            rows=HISTORY_DAYS // WEEKDAYS * SEGMENT_ROWS_A_DAY,
            first=place,
            xway=xway,
            weekday=weekday,
        )
        for place, xway in enumerate(vehicles.xways)
        for weekday in range(1, WEEKDAYS + 1)
    ]
    tolls = [
        _Task("tolls", folder, seed, form, rows=(after - first) * LAST_EXPENDITURE_DAY, first=first, after=after)
        for first, after in _cut(vehicles.vid)
    ]
    return segments + tolls


def _cut(vid: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Pieces of the pairs that leave the pairs of one vehicle together."""
    first = 0
    while first < len(vid):
        at = min(first + _PAIRS_A_TASK, len(vid)) - 1
        after = int(np.searchsorted(vid, vid[at], side="right"))
        yield first, after
        first = after


def _run(spark: SparkSession, tasks: list[_Task], progress: Callable[[int], None]) -> _Outcome:
    """Run the tasks on Spark and add up what they found."""
    context = spark.sparkContext
    done = context.accumulator(0)
    group = f"history-{time.monotonic_ns()}"

    def work(task: _Task) -> _Outcome:
        outcome = _perform(task)
        done.add(task.rows)
        return outcome

    def job() -> list[_Outcome]:
        context.setJobGroup(group, "history", interruptOnCancel=True)
        return context.parallelize(tasks, len(tasks)).map(work).collect()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(job)
        try:
            while not running.done():
                time.sleep(0.05)
                progress(done.value)
        except BaseException:
            context.cancelJobGroup(group)
            raise
        outcomes = running.result()
    progress(done.value)
    for outcome in outcomes:
        if outcome.fault:
            raise OSError(*outcome.fault)
    return _Outcome(
        tolled_rows=sum(outcome.tolled_rows for outcome in outcomes),
        lav_sum=sum(outcome.lav_sum for outcome in outcomes),
        cars_sum=sum(outcome.cars_sum for outcome in outcomes),
    )


def _perform(task: _Task) -> _Outcome:
    """One task. A fault of the disk is its outcome, so that the driver can say it without Spark's traceback."""
    try:
        return _make_segments(task) if task.kind == "segments" else _make_tolls(task)
    except OSError as fault:
        where = fault.filename if isinstance(fault.filename, str) else str(task.folder)
        return _Outcome(fault=(fault.errno or 0, fault.strerror or str(fault), where))


def _make_segments(task: _Task) -> _Outcome:
    """One weekday of one expressway: its rows, and its cells of the look-up."""
    shape = demand(task.weekday)
    sums = np.zeros((MINUTES_A_DAY, 2, SEGMENTS, 4), np.int32)
    tolled = 0
    minute, dir_, seg = _segment_keys()
    with _Parts(task, "segments", SEGMENT_HISTORY.schema) as parts:
        for day in range(task.weekday, HISTORY_DAYS + 1, WEEKDAYS):
            lav, cnt, toll = segment_day(task.seed, day, task.xway, shape)
            sums += np.stack([lav, np.ones_like(lav), cnt, np.ones_like(cnt)], axis=-1)
            tolled += int(np.count_nonzero(toll))
            constant = np.full(SEGMENT_ROWS_A_DAY, day), minute, np.full(SEGMENT_ROWS_A_DAY, task.xway), dir_, seg
            parts.write(f"day-{day:02}-xway-{task.xway:05}", [*constant, lav.ravel(), cnt.ravel(), toll.ravel()])
    with (task.folder / FOLDER / "segments-cells.npy").open("r+b") as cells:
        data_at = len(column_header(np.dtype(np.int32), (task.first, *XWAY_CELLS))) + task.first * _CELLS_BYTES
        slab = _CELLS_BYTES // (2 * WEEKDAYS)
        for direction in (0, 1):
            cells.seek(data_at + (direction * WEEKDAYS + task.weekday - 1) * slab)
            cells.write(np.ascontiguousarray(sums[:, direction]).data)
    return _Outcome(tolled, int(sums[..., 0].sum()), int(sums[..., 2].sum()))


def _segment_keys() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Minute, direction and segment of the rows of a day."""
    minute, dir_, seg = np.indices((MINUTES_A_DAY, 2, SEGMENTS), dtype=np.int16)
    return (minute + 1).ravel(), dir_.ravel(), seg.ravel()


def _make_tolls(task: _Task) -> _Outcome:
    """All days of some thousand vehicles."""
    vid, xway = (
        np.load(task.folder / f"{name}.npy", mmap_mode="r")[task.first : task.after] for name in ("vid", "xway")
    )
    columns = vehicle_tolls(task.seed, np.ascontiguousarray(vid), np.ascontiguousarray(xway))
    with _Parts(task, "tolls", TOLL_HISTORY.schema) as parts:
        parts.write(f"from-{task.first:010}", list(columns))
    return _Outcome()


class _Parts:
    """Writes the rows of a task: one Parquet file with a row group for each piece, or a CSV file for each piece."""

    def __init__(self, task: _Task, name: str, schema: pa.Schema) -> None:
        self.folder, self.form, self.schema = task.folder / f"{name}.parts", task.form, schema
        if task.form == "parquet":
            file = f"xway-{task.xway:03}-weekday-{task.weekday}" if name == "segments" else f"from-{task.first:010}"
            self._writer = pa.parquet.ParquetWriter(
                self.folder / f"{file}.parquet", schema, compression="zstd", compression_level=1
            )

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.form == "parquet":
            self._writer.close()

    def write(self, name: str, columns: list[NDArray[Any]]) -> None:
        arrays = [
            pa.array(column.astype(field.type.to_pandas_dtype(), copy=False))
            for column, field in zip(columns, self.schema, strict=True)
        ]
        piece = pa.record_batch(arrays, schema=self.schema)
        if self.form == "parquet":
            self._writer.write_batch(piece, row_group_size=len(piece))
        else:
            options = pa.csv.WriteOptions(include_header=False)
            pa.csv.write_csv(piece, self.folder / f"{name}.csv", options)


def _finish(folder: Path, vehicles: Vehicles, form: Form, facts: HistoryFacts) -> None:
    """Put the parts together, make the look-up of the tolls, write the facts."""
    for name in ("vid.npy", "xway.npy"):
        (folder / name).unlink()
    for name in ("tolls", "segments"):
        parts, whole = folder / f"{name}.parts", folder / f"{name}.{form}"
        if form == "parquet":
            parts.replace(whole)
        else:
            _concatenate(sorted(parts.iterdir()), whole)
            parts.rmdir()
    save_segment_meta(folder / FOLDER, list(vehicles.xways), folder / f"segments.{form}")
    TollLookup.build(folder / f"tolls.{form}", folder / FOLDER)
    (folder / FACTS).write_text(json.dumps(asdict(facts), indent=2) + "\n")


def _concatenate(parts: list[Path], whole: Path) -> None:
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as opened:
                shutil.copyfileobj(opened, out, 1 << 20)
            part.unlink()


def _facts(vehicles: Vehicles, found: _Outcome, seed: int, form: Form) -> HistoryFacts:
    segment_rows = len(vehicles.xways) * HISTORY_DAYS * SEGMENT_ROWS_A_DAY
    return HistoryFacts(
        version=__version__,
        seed=seed,
        format=form,
        vehicles=len(np.unique(vehicles.vid)),
        xways=vehicles.xways,
        toll_rows=len(vehicles.vid) * LAST_EXPENDITURE_DAY,
        segment_rows=segment_rows,
        tolled_share=found.tolled_rows / segment_rows,
        mean_lav=found.lav_sum / segment_rows,
        mean_cnt=found.cars_sum / segment_rows,
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
