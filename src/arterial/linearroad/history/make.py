"""Makes the history of a city (VLDB 2004, §3.1.3) as a Spark job: TollHistory, SegmentHistory and their look-up form.

Either table may be someone else's instead; then only its look-up form is made.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arterial.errors import DataError
from arterial.linearroad.history.columns import machine_fault
from arterial.linearroad.history.lookup import FOLDER, SegmentLookup, TollLookup, save_segment_meta
from arterial.linearroad.history.tasks import (
    SEGMENT_ROWS_A_DAY,
    Form,
    Outcome,
    Task,
    parts_of,
    perform,
    plan_segments,
    plan_tolls,
)
from arterial.linearroad.history.travel_time import CARS_SUM, LAV_ROWS, LAV_SUM, ROWS
from arterial.linearroad.semantics.city import HISTORY_DAYS, LAST_EXPENDITURE_DAY
from arterial.storage.place import draft_folder, remove_drafts, rename
from arterial.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS = "history.json"


@dataclass(frozen=True)
class Wanted:
    """What to make: TollHistory for ascending pairs (vehicle, expressway), SegmentHistory for expressways.

    `tolls` and `segments` are files or folders of others to take instead.
    """

    vid: NDArray[np.int64]
    xway: NDArray[np.int32]
    xways: tuple[int, ...]
    tolls: Path | None = None
    segments: Path | None = None

    @property
    def rows(self) -> int:
        """How many rows are to be made."""
        tolls = 0 if self.tolls else len(self.vid) * LAST_EXPENDITURE_DAY
        segments = 0 if self.segments else len(self.xways) * HISTORY_DAYS * SEGMENT_ROWS_A_DAY
        return tolls + segments


@dataclass(frozen=True)
class HistoryFacts:
    """What there is now: written beside it as `history.json`.

    `repeated_tolls` are rows that a later one with the same key replaced; the share of rows with a toll is known only
    of a SegmentHistory of our own.
    """

    version: str
    seed: int
    format: Form
    tolls: str
    segments: str
    vehicles: int
    xways: tuple[int, ...]
    toll_rows: int
    repeated_tolls: int
    segment_rows: int
    mean_lav: float
    mean_cnt: float
    tolled_share: float | None


def counted(vehicles: int, xways: int) -> Wanted:
    """Vehicles 0, 1, … on each of the expressways 0, 1, …"""
    vid = np.repeat(np.arange(vehicles, dtype=np.int64), xways)
    xway = np.tile(np.arange(xways, dtype=np.int32), vehicles)
    return Wanted(vid, xway, tuple(range(xways)))


def make_history(
    spark: SparkSession,
    wanted: Wanted,
    out: Path,
    *,
    seed: int,
    form: Form = "parquet",
    force: bool = False,
    progress: Callable[[int], None] = lambda rows: None,
) -> HistoryFacts:
    """Make a history in the folder `out`; `progress` gets the rows made so far.

    The folder may hold other things; a history in it is replaced only with `force`. Nothing is put in place before all
    is made.
    """
    there = [out / name for name in _NAMES if (out / name).exists()]
    if there and not force:
        raise DataError(
            f"{out} already holds a history ({there[0].name}). Give --force to replace it, or another folder."
        )
    try:
        remove_drafts(out, "history")
        # A whole path, since Spark's workers are in a folder of their own.
        with draft_folder(out.absolute() / "history") as draft:
            (draft / FOLDER).mkdir()
            tasks = [] if wanted.segments else plan_segments(wanted.xways, draft, seed, form)
            tasks += [] if wanted.tolls else plan_tolls(wanted.vid, wanted.xway, draft, seed, form)
            tolled = _run(spark, tasks, progress)
            facts = _finish(draft, wanted, tolled, seed, form)
            for path in there:
                _remove(path)
            for made in draft.iterdir():
                rename(made, out / made.name)
    except OSError as fault:
        raise machine_fault(fault, out, "write") from fault
    return facts


_NAMES = ("tolls.parquet", "tolls.csv", "segments.parquet", "segments.csv", FOLDER, FACTS)


def _run(spark: SparkSession, tasks: list[Task], progress: Callable[[int], None]) -> int:
    """Run the tasks on Spark; returns how many rows of SegmentHistory have a toll."""
    if not tasks:
        return 0
    context = spark.sparkContext
    done = context.accumulator(0)
    group = f"history-{time.monotonic_ns()}"

    def work(task: Task) -> Outcome:
        outcome = perform(task)
        done.add(task.rows)
        return outcome

    def job() -> list[Outcome]:
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
    for outcome in outcomes:
        if outcome.fault:
            raise OSError(*outcome.fault)
    progress(done.value)
    return sum(outcome.tolled for outcome in outcomes)


def _finish(folder: Path, wanted: Wanted, tolled: int, seed: int, form: Form) -> HistoryFacts:
    """Put the parts together, complete the look-up, write the facts."""
    if not wanted.tolls:
        (folder / "vid.npy").unlink()
        (folder / "xway.npy").unlink()
    tolls = TollLookup.build(wanted.tolls or _assemble(folder, "tolls", form), folder / FOLDER)
    if wanted.segments:
        segments = SegmentLookup.build(wanted.segments, folder / FOLDER)
    else:
        save_segment_meta(folder / FOLDER, list(wanted.xways), _assemble(folder, "segments", form))
        segments = SegmentLookup.open(folder / FOLDER)
    sums = np.zeros(4, np.int64)
    for xway_cells in segments.cells:
        sums += xway_cells.reshape(-1, 4).sum(axis=0, dtype=np.int64)
    facts = HistoryFacts(
        version=__version__,
        seed=seed,
        format=form,
        tolls=str(wanted.tolls or f"tolls.{form}"),
        segments=str(wanted.segments or f"segments.{form}"),
        vehicles=len(tolls.vids),
        xways=tuple(segments.xways.tolist()),
        toll_rows=len(tolls),
        repeated_tolls=tolls.repeated,
        segment_rows=int(sums[ROWS]),
        mean_lav=float(sums[LAV_SUM] / max(sums[LAV_ROWS], 1)),
        mean_cnt=float(sums[CARS_SUM] / sums[ROWS]),
        tolled_share=None if wanted.segments else tolled / int(sums[ROWS]),
    )
    (folder / FACTS).write_text(json.dumps(asdict(facts), indent=2) + "\n")
    return facts


def _assemble(folder: Path, name: str, form: Form) -> Path:
    """Make a table of its parts: for Parquet the folder of them, for CSV one file."""
    parts, whole = parts_of(folder, name), folder / f"{name}.{form}"
    if form == "parquet":
        return parts.replace(whole)
    with whole.open("wb") as out:
        for part in sorted(parts.iterdir()):
            with part.open("rb") as opened:
                shutil.copyfileobj(opened, out, 1 << 20)
            part.unlink()
    parts.rmdir()
    return whole


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
