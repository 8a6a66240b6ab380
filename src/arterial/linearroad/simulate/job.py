"""The Spark job that makes a data set: a task an expressway to simulate, vehicles for all trips, a task each to write.

Everything is made in a folder of its own beside the target, which takes the target's name when it is whole: an
interrupted run leaves nothing that looks like a data set.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from arterial.errors import DataError, MachineError
from arterial.linearroad.simulate.expressway import (
    Accident,
    read_journeys,
    simulate_expressway,
    write_expressway,
)
from arterial.linearroad.simulate.merge import merge_to_csv
from arterial.linearroad.simulate.progress import Watcher, heard
from arterial.linearroad.simulate.settings import Settings
from arterial.linearroad.simulate.vehicles import Journeys, assign_vehicles
from arterial.storage.place import draft_folder, rename
from arterial.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CITY_FILE = "city.json"
_POLL_SECONDS = 0.2
_CSV_GROUP_SECONDS = 30
T = TypeVar("T")


@dataclass(frozen=True)
class City:
    """What a data set holds; its `city.json`."""

    version: str
    seed: int
    xways: float
    seconds: int
    density: float
    start_at: int
    format: str
    vehicles: int
    trips: int
    returning_trips: int
    reports: int
    balance_requests: int
    expenditure_requests: int
    travel_time_requests: int
    accidents: list[Accident]


def simulate(spark: SparkSession, settings: Settings, out: Path, watcher: Watcher, *, force: bool = False) -> City:
    """Make a data set in the folder `out`, which must be new or empty unless `force` says to replace a data set."""
    check_target(out, force=force)
    with _draft_of(out) as draft, _disk_errors(out):
        spools = [draft / "spool" / f"xway-{xway:03}" for xway in range(settings.expressways)]
        accidents = _simulate_all(spark, settings, spools, watcher)
        journeys = _assign_all(settings, spools)
        counts = _write_all(spark, settings, spools, draft / "events", watcher)
        if settings.format == "csv":
            files = sorted((draft / "events").iterdir())
            with watcher("merging", total=sum(counts.values()), unit="events") as bar:
                merge_to_csv(files, draft / "events.csv", bar.to)
            shutil.rmtree(draft / "events")
        city = _describe(settings, journeys, counts, accidents)
        (draft / CITY_FILE).write_text(json.dumps(asdict(city), indent=2) + "\n")
        shutil.rmtree(draft / "spool")
        rename(draft, out)
    return city


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a target that must not or cannot be written, before any work is done."""
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file, but --out names the folder of a data set. Choose another name.")
    filled = out.exists() and any(out.iterdir())
    if filled and not force:
        raise DataError(f"{out} is not empty. Choose another folder, or replace the data set in it with --force.")
    if filled and not (out / CITY_FILE).is_file():
        raise DataError(
            f"{out} is not empty and holds no data set (no {CITY_FILE}), so --force does not delete it. "
            "Choose another folder."
        )
    with _draft_of(out):
        pass


def _simulate_all(spark: SparkSession, settings: Settings, spools: list[Path], watcher: Watcher) -> list[Accident]:
    def task(xway: int) -> list[Accident]:
        return simulate_expressway(settings, xway, spools[xway])

    roads = sum(len(settings.directions(xway)) for xway in range(settings.expressways))
    found = _run_tasks(
        spark, task, spools, watcher, what="simulating", total=roads * settings.stop_at, unit="road seconds"
    )
    return sorted((one for some in found for one in some), key=lambda one: (one.time, one.xway))


def _assign_all(settings: Settings, spools: list[Path]) -> tuple[Journeys, NDArray[np.int64]]:
    """Give every trip its vehicle, and each expressway the list of its own."""
    parts = [read_journeys(spool) for spool in spools]
    journeys = Journeys(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    vehicle = assign_vehicles(journeys, settings.seed)
    borders = np.cumsum([len(part.began) for part in parts])[:-1]
    for spool, own in zip(spools, np.split(vehicle, borders), strict=True):
        np.save(spool / "vehicle.npy", own)
    return journeys, vehicle


def _write_all(
    spark: SparkSession, settings: Settings, spools: list[Path], events: Path, watcher: Watcher
) -> dict[str, int]:
    events.mkdir()
    group = _CSV_GROUP_SECONDS if settings.format == "csv" else None

    def task(xway: int) -> dict[str, int]:
        return write_expressway(settings, xway, spools[xway], events / f"xway-{xway:03}.parquet", group)

    expected = sum(int(np.load(file)[-1]) for spool in spools for file in spool.glob("dir-*/until.npy"))
    counts = _run_tasks(spark, task, spools, watcher, what="writing", total=expected, unit="events")
    return {name: sum(count[name] for count in counts) for name in counts[0]}


def _run_tasks(
    spark: SparkSession,
    task: Callable[[int], T],
    spools: list[Path],
    watcher: Watcher,
    *,
    what: str,
    total: float,
    unit: str,
) -> list[T]:
    """Run a task an expressway on Spark, and show how far they are until all are done."""
    from pyspark import InheritableThread

    outcome: list[list[T | OSError]] = []
    failed: list[BaseException] = []

    def whole() -> None:
        context = spark.sparkContext
        try:
            outcome.append(context.parallelize(range(len(spools)), len(spools)).map(_or_disk_error(task)).collect())
        except BaseException as error:  # handed to the thread that waits
            failed.append(error)

    said = [spool / "progress" for spool in spools]
    for file in said:
        file.unlink(missing_ok=True)
    worker = InheritableThread(target=whole, daemon=True)
    with watcher(what, total=total, unit=unit) as bar:
        worker.start()
        try:
            while worker.is_alive():
                worker.join(_POLL_SECONDS)
                bar.to(min(heard(said), total))
        except BaseException:
            spark.sparkContext.cancelAllJobs()
            worker.join(10)
            raise
        if failed:
            raise failed[0]
        bar.to(total)
    results = []
    for result in outcome[0]:
        if isinstance(result, OSError):
            raise result
        results.append(result)
    return results


def _or_disk_error(task: Callable[[int], T]) -> Callable[[int], T | OSError]:
    """A full disk is for the user to fix: Spark would try again and bury it in a traceback."""

    def run(xway: int) -> T | OSError:
        try:
            return task(xway)
        except OSError as error:
            return OSError(error.errno, error.strerror or str(error), error.filename)

    return run


def _describe(
    settings: Settings, journeys: tuple[Journeys, NDArray[np.int64]], counts: dict[str, int], accidents: list[Accident]
) -> City:
    whole, vehicle = journeys
    seen = (whole.began >= 0) & ((whole.ended < 0) | (whole.ended >= settings.start_at))
    vehicles = len(np.unique(vehicle[seen]))
    trips = int(seen.sum())
    return City(
        __version__,
        settings.seed,
        settings.xways,
        settings.seconds,
        settings.density,
        settings.start_at,
        settings.format,
        vehicles,
        trips,
        trips - vehicles,
        **counts,
        accidents=accidents,
    )


@contextmanager
def _draft_of(out: Path) -> Iterator[Path]:
    """A folder beside the target, on the same disk; it goes if the work fails or is interrupted."""
    with ExitStack() as stack:
        try:
            draft = stack.enter_context(draft_folder(out.parent.resolve() / out.name))
        except OSError as error:
            raise MachineError(
                f"Cannot write in {out.parent.resolve()}: {error.strerror}. Choose another --out."
            ) from error
        yield draft


@contextmanager
def _disk_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "Free some space or choose an --out on a larger disk: an expressway of 3 hours takes about 1 GB."
        else:
            remedy = "Choose another --out."
        raise MachineError(f"Cannot write the data set {out}: {error.strerror or error}. {remedy}") from error
