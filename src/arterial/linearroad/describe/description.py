"""The description of a whole data set: the sketches of its expressways together, beside the paper's figures."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.data.dataset import Data
from arterial.linearroad.describe.sketch import DOWNTOWN, Accident, Sketch, sketch
from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, TRAVEL_TIME_REQUEST
from arterial.linearroad.semantics.city import MINUTE_SECONDS, RUN_SECONDS

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# Starting Spark takes as long as reading about this many events without it.
SPARK_EVENTS = 10_000_000


def describe(
    data: Data,
    *,
    spark: Callable[[], SparkSession] | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Description:
    """Describe a data set; with `spark` several expressways of many events are sketched by a job, a task each.

    `progress` gets how many minutes of expressways are done.
    """
    if spark is None or len(data.xways) == 1 or data.events < SPARK_EVENTS:
        # A step is one direction of an expressway.
        steps = itertools.count(1)
        step = minutes_of(data) / len(data.xways) / 2
        sketches = [sketch(data.folder, xway, lambda: progress(next(steps) * step)) for xway in data.xways]
    else:
        sketches = _sketch_all(spark(), data, progress)
    return Description(data, sketches)


def minutes_of(data: Data) -> int:
    """How many minutes of expressways there are to read."""
    return len(data.xways) * (data.last_second // MINUTE_SECONDS + 1 - data.first_second // MINUTE_SECONDS)


def _sketch_all(spark: SparkSession, data: Data, progress: Callable[[float], None]) -> list[Sketch]:
    folder = data.folder.resolve()
    context, name = spark.sparkContext, f"describe {data.folder}"

    def job() -> list[Sketch]:
        context.setJobGroup(name, name)
        tasks = context.parallelize(data.xways, len(data.xways)).map(lambda xway: sketch(folder, xway))
        found: list[Sketch] = tasks.collect()
        return found

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(job)
        while not wait([running], timeout=0.5).done:
            progress(minutes_of(data) * _tasks_done(context, name) / len(data.xways))
    progress(minutes_of(data))
    return running.result()


def _tasks_done(context: SparkContext, group: str) -> int:
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)


@dataclass(frozen=True)
class Comparison:
    """A figure of the data, and what the paper says of an expressway (§3.1.1, §4.3); `unit` is how to write it."""

    name: str
    here: float
    paper: float | None
    unit: str = ""


@dataclass(frozen=True)
class Description:
    """What a data set is like."""

    data: Data
    sketches: list[Sketch]

    @property
    def seconds(self) -> int:
        """The time that the data spans."""
        return max(self.data.last_second + 1 - self.data.first_second, 1)

    @property
    def reports_per_second(self) -> NDArray[np.int64]:
        """Over all expressways."""
        return self._sum("reports_per_second")

    @property
    def reports(self) -> int:
        """Position reports."""
        return int(self.events_by_type[0])

    @property
    def requests(self) -> int:
        """Historical requests."""
        return int(self.events_by_type[1:].sum())

    @property
    def events_by_type(self) -> NDArray[np.int64]:
        """Events of each type."""
        return self._sum("events_by_type")

    @property
    def vehicles(self) -> int:
        """Vehicles, each once even if it is seen on several expressways."""
        seen = [one.vehicles for one in self.sketches]
        return len(np.unique(np.concatenate(seen)))

    @property
    def trips(self) -> int:
        """Trips, counted by the reports that have none 30 s before them."""
        return sum(one.trips for one in self.sketches)

    @property
    def notices(self) -> int:
        """Toll notices that are due."""
        return int(self._sum("notices").sum())

    @property
    def alerts(self) -> int:
        """Accident alerts that are due."""
        return sum(one.alerts for one in self.sketches)

    @property
    def accidents(self) -> list[Accident]:
        """All accidents, by time."""
        return sorted((a for one in self.sketches for a in one.accidents), key=lambda accident: accident.start)

    @property
    def speeds(self) -> NDArray[np.int64]:
        """Reports at each speed."""
        return self._sum("speeds")

    @property
    def speeds_downtown(self) -> NDArray[np.int64]:
        """Reports at each speed downtown."""
        return self._sum("speeds_downtown")

    @property
    def mean_speed(self) -> float:
        """Over all reports."""
        return float(self.speeds @ np.arange(len(self.speeds)) / max(self.speeds.sum(), 1))

    @property
    def speed_by_minute(self) -> NDArray[np.float64]:
        """Mean speed of the reports of each minute; NaN without any."""
        sums = self._sum("speed_sums")
        seconds = np.zeros(len(sums) * MINUTE_SECONDS, np.int64)
        seconds[: len(self.reports_per_second)] = self.reports_per_second
        with np.errstate(invalid="ignore"):
            speeds: NDArray[np.float64] = sums / seconds.reshape(-1, MINUTE_SECONDS).sum(axis=1)
        return speeds

    @property
    def peak_rate(self) -> float:
        """Reports per second in the busiest minute."""
        rates = self.reports_per_second
        whole = len(rates) // MINUTE_SECONDS * MINUTE_SECONDS
        by_minute = rates[:whole].reshape(-1, MINUTE_SECONDS).mean(axis=1) if whole else rates.mean(keepdims=True)
        return float(by_minute.max())

    def toll_share(self, segments: slice = slice(None)) -> float:
        """The share of notices whose toll is above 0, in some segments or all."""
        due = sum(int(one.notices[:, :, segments].sum()) for one in self.sketches)
        charged = sum(int(one.notices[:, :, segments][one.toll[:, :, segments] > 0].sum()) for one in self.sketches)
        return charged / due if due else 0.0

    def slow_share(self) -> float:
        """The share of notices with an LAV below 40."""
        slow = sum(int(one.notices[one.lav < 40].sum()) for one in self.sketches)
        return slow / max(self.notices, 1)

    def mean_toll(self) -> float:
        """The mean of the tolls above 0."""
        charged = sum(int(one.notices[one.toll > 0].sum()) for one in self.sketches)
        return sum(float((one.notices * one.toll.astype(np.int64)).sum()) for one in self.sketches) / max(charged, 1)

    def comparisons(self) -> list[Comparison]:
        """Figures by expressway beside the paper's; counts only where the data spans the paper's three hours."""
        xways = len(self.sketches)
        kinds = self.events_by_type
        whole = abs(self.seconds - RUN_SECONDS) <= RUN_SECONDS / 20

        def count(name: str, here: float, paper: float) -> Comparison:
            return Comparison(name, here / xways, paper if whole else None)

        def share(name: str, here: float, of: float, paper: float | None) -> Comparison:
            return Comparison(name, 100 * here / max(of, 1), paper, "%")

        return [
            count("reports", self.reports, 12_000_000),
            count("vehicles", self.vehicles, 150_000),
            count("toll notices due", self.notices, 2_000_000),
            count("accident alerts due", self.alerts, 28_000),
            count("account balance requests", kinds[BALANCE_REQUEST], 60_000),
            count("daily expenditure requests", kinds[EXPENDITURE_REQUEST], 12_000),
            count("travel time requests", kinds[TRAVEL_TIME_REQUEST], 48_000),
            Comparison("reports a second in the busiest minute", self.peak_rate / xways, 1_700 if whole else None),
            Comparison("accidents in 20 minutes", len(self.accidents) / xways * 1200 / self.seconds, 1.0),
            share("requests, of reports", self.requests, self.reports, 1.0),
            share("balance, of requests", kinds[BALANCE_REQUEST], self.requests, 50.0),
            share("expenditure, of requests", kinds[EXPENDITURE_REQUEST], self.requests, 10.0),
            share("travel time, of requests", kinds[TRAVEL_TIME_REQUEST], self.requests, 40.0),
        ]

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        cleaning = self.data.cleaning
        return {
            "path": str(self.data.path),
            "xways": list(self.data.xways),
            "first_second": self.data.first_second,
            "last_second": self.data.last_second,
            "events": self.data.events,
            "reports": self.reports,
            "requests": {str(kind): int(self.events_by_type[kind]) for kind in (2, 3, 4)},
            "vehicles": self.vehicles,
            "trips": self.trips,
            "trips_from_a_ramp": sum(one.entries for one in self.sketches),
            "trips_to_an_exit": sum(one.exits for one in self.sketches),
            "mean_speed": self.mean_speed,
            "peak_reports_per_second": self.peak_rate,
            "toll_notices": self.notices,
            "accident_alerts": self.alerts,
            "share_of_tolls_above_0": self.toll_share(),
            "share_of_tolls_above_0_downtown": self.toll_share(DOWNTOWN),
            "downtown": [DOWNTOWN.start, DOWNTOWN.stop - 1],
            "share_of_lav_below_40": self.slow_share(),
            "mean_toll_above_0": self.mean_toll(),
            "accidents": [{**vars(one), "seg": one.seg} for one in self.accidents],
            "set_aside": cleaning.rejected if cleaning else {},
            "irregular_reports": cleaning.early_reports + cleaning.off_ramp_reports if cleaning else 0,
            "beside_the_paper": [vars(one) for one in self.comparisons()],
        }

    def _sum(self, name: str) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.sum([getattr(one, name) for one in self.sketches], axis=0)
        return total
