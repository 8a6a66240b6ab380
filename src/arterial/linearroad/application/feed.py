"""What feeds the network: the position reports and the requests of a data set, as two sources that advance together.

Reports are delivered by shard: a task reads the expressways and directions that belong to its slot, and their replicas.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.compute as pc

from arterial.arrays import Array
from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.linearroad.application.originals import Originals, Road
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.network.keys.slots import slots
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train
from arterial.storage.place import put_in_place

ROAD_KEY = ("xway", "dir")

# Without pacing, steps are kept between these seconds: a step has some 0.4 s of cost that does not depend on its size,
# and answers must still be in time.
SHORT_STEP, LONG_STEP = 1.5, 3.5
FIRST_SIZE, LARGEST_SIZE = 50_000, 16_000_000

ROADS = 2
"""From this row on, the file of counts has the roads: two directions for each expressway."""

REPORT_SCHEMA = Schema.of(
    {
        "time": "int32",
        "vid": "int64",
        "speed": "int16",
        "xway": "int32",
        "lane": "int8",
        "dir": "int8",
        "seg": "int16",
        "pos": "int32",
    }
)
REQUEST_SCHEMA = Schema.of(
    {
        "type": "int8",
        "time": "int32",
        "vid": "int64",
        "xway": "int32",
        "qid": "int64",
        "sinit": "int16",
        "send": "int16",
        "dow": "int8",
        "tod": "int16",
        "day": "int16",
    }
)


@dataclass(frozen=True, kw_only=True)
class Feed(Source):
    """The seconds [0, until) of the input. Those before the pace's `begin` are delivered without waiting.

    Its position is the next second to read, how many empty steps are left to warm up before the clock starts, and,
    where nothing paces it, when its last step was planned and how many tuples it was to have: steps that took long are
    followed by shorter ones, so that answers stay in time on a slow machine too.
    """

    pace: Pace
    until: int | None
    warm_up: int = 0

    def begin(self) -> Progress:
        """At the beginning of the data."""
        return Progress({"second": 0, "warm up": self.warm_up, "at": 0.0, "size": FIRST_SIZE}, BEGIN)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """Whole seconds: those that are due, or as many as make a train."""
        second, warm_up = before.position["second"], before.position["warm up"]
        size = before.position["size"]
        end = self._end(ask)
        if end is not None and second >= end:
            return replace(before, through=END)
        if second == self._warm_second and warm_up:
            return Progress({**before.position, "warm up": warm_up - 1, "at": ask.now}, before.through)
        if second >= self.pace.begin and self.pace.runs_freely:
            size = _next_size(size, ask.now - before.position["at"])
            ask = replace(ask, tuples=min(ask.tuples, size))
        stop = self._fitting(second, ask)
        if second < self.pace.begin:
            stop = min(stop, self.pace.begin)
        elif stop > second and not self.pace.runs_freely:
            stop = min(stop, self.pace.last_due(ask.now) + 1)
        if ask.until is not None:
            stop = min(stop, ask.until + 1)
        if stop <= second:
            return before
        position = {"second": stop, "warm up": warm_up, "at": ask.now, "size": size}
        return Progress(position, END if end is not None and stop >= end else stop - 1)

    def share(self, progress: Progress) -> float | None:
        """The share of the seconds, where the end is known."""
        return float(min(1.0, progress.position["second"] / max(1, self.until))) if self.until else None

    def waited(self, span: Span, now: float) -> float:
        """How long ago the first second of a step was due, where they are paced."""
        second = span.before.position["second"]
        if span.after.position["second"] <= second or second < self.pace.begin:
            return 0.0
        return max(0.0, now - self.pace.due(second)) if not self.pace.runs_freely and self.pace.started else 0.0

    @property
    def _warm_second(self) -> int:
        """Before which second the empty steps are."""
        return self.pace.begin

    @abstractmethod
    def _end(self, ask: Ask) -> int | None:
        """The second before which the input ends, if it is known."""

    @abstractmethod
    def _fitting(self, second: int, ask: Ask) -> int:
        """The second before which a train ends, of those that are there; one second always fits."""


def _next_size(size: int, seconds: float) -> int:
    """How many tuples the next step has, after one of so many that took so long."""
    if seconds < SHORT_STEP:
        return min((4 if seconds < SHORT_STEP / 2 else 2) * size, LARGEST_SIZE)
    return max(size // 2, FIRST_SIZE) if seconds > LONG_STEP else size


@dataclass(frozen=True, kw_only=True)
class StoredFeed(Feed):
    """A data set as the input, with its replicas."""

    folder: Path
    """The data set."""
    until: int
    replication: Replication
    counts: Path
    """How many events each second of the data set has, all expressways together."""

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> Source:
        """Count the events of each second, unless that was done before."""
        data = _opened(self.folder)
        if not self.counts.exists() or len(np.load(self.counts, mmap_mode="r")) != ROADS + 2 * len(data.xways):
            _count_seconds(data, self.counts)
        return self

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many tuples of this source are due and not yet read."""
        second = progress.position["second"]
        if second < self.pace.begin or self.pace.runs_freely or not self.pace.started:
            return None
        due = min(self.pace.last_due(now) + 1, self.until)
        return int(self._a_second()[second:due].sum()) * self.replication.times

    @abstractmethod
    def _a_second(self) -> Array:
        """How many tuples of this source each second of the data set has, without replicas."""

    def _end(self, ask: Ask) -> int | None:
        return self.until

    def _fitting(self, second: int, ask: Ask) -> int:
        total = np.cumsum(self._a_second()[second : second + 3600]) * self.replication.times
        return min(self.until, second + max(1, int(np.searchsorted(total, ask.tuples, side="right"))))


@dataclass(frozen=True)
class ReportFeed(StoredFeed):
    """The position reports, by expressway and direction."""

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """The files are by expressway, so a slot's tuples are found without looking at every one."""
        return key == ROAD_KEY

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The reports of the roads of a slot, or a contiguous piece of all, in the order of time."""
        tuples = self._tuples(self._originals(Span(before, after), part))
        return piece_of(tuples, part) if part.key is None else tuples

    def _a_second(self) -> Array:
        reports: Array = _counted(self.counts)[1]
        return reports

    def skips(self, by: tuple[str, ...]) -> bool:
        """Roads are found without looking at every tuple."""
        return set(by) <= set(ROAD_KEY)

    def skipped(self, span: Span, part: Part) -> int:
        """The reports of the roads that are left out."""
        start, stop = (progress.position["second"] for progress in (span.before, span.after))
        counts, xways = _counted(self.counts), _opened(self.folder).xways
        wanted = self._roads(part)
        left_out = 0
        for (xway, direction), replicas in self._roads(replace(part, without=None)).items():
            times = len(replicas) - len(wanted.get((xway, direction), ()))
            left_out += times * int(counts[ROADS + 2 * xways.index(xway) + direction, start:stop].sum())
        return left_out

    def read_trains(self, span: Span, part: Part) -> Iterable[Train]:
        """The reports of the roads of a slot, few at a time."""
        if part.key is None:
            yield from super().read_trains(span, part)
            return
        for some, following in pairwise([*self._originals(span, part).few_at_a_time(), None]):
            assert some is not None
            through = span.after.through if following is None else int(following.columns["time"][0]) - 1
            yield Train(self._tuples(some), through)

    def _originals(self, span: Span, part: Part) -> Originals:
        start, stop = (progress.position["second"] for progress in (span.before, span.after))
        return Originals.read(_opened(self.folder), start, stop, self._roads(part))

    def _tuples(self, originals: Originals) -> pl.DataFrame:
        return pl.DataFrame(originals.repeated(self.replication), schema=REPORT_SCHEMA.polars())

    def _roads(self, part: Part) -> Mapping[Road, list[int]]:
        """The expressways and directions that a part holds, each with its replicas."""
        xways = _opened(self.folder).xways
        every = [(xway, d, r) for r in range(self.replication.times) for xway in xways for d in (0, 1)]
        if part.key is not None:
            numbers = [xway + self.replication.xway_step * r for xway, _, r in every]
            keys = pl.DataFrame({"xway": numbers, "dir": [d for _, d, _ in every]})
            mine = slots(keys, part.key, part.count) == part.index
            if part.without is not None:
                mine &= part.without.stays(keys)
            every = [road for road, here in zip(every, mine, strict=True) if here]
        roads: dict[Road, list[int]] = {}
        for xway, direction, replica in every:
            roads.setdefault((xway, direction), []).append(replica)
        return roads


@dataclass(frozen=True)
class RequestFeed(StoredFeed):
    """The requests of types 2, 3 and 4."""

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A contiguous piece of the requests, in the order of time."""
        start, stop = before.position["second"], after.position["second"]
        if start == stop:
            return REQUEST_SCHEMA.empty()
        found = _opened(self.folder).read(start, stop)
        found = found.filter(pc.not_equal(found["type"], POSITION_REPORT))
        # A request is followed by its replicas, so a piece of all is made from a piece of the originals.
        times = self.replication.times
        first, last = _bounds(found.num_rows * times, part)
        from_row = first // times
        rows = -(-last // times) - from_row
        originals = {name: found[name].to_numpy()[from_row : from_row + rows] for name in REQUEST_SCHEMA.names}
        requests = pl.DataFrame(self.replication.together(originals), schema=REQUEST_SCHEMA.polars())
        return requests.slice(first - from_row * times, last - first)

    def _a_second(self) -> Array:
        events, reports = _counted(self.counts)[:ROADS]
        requests: Array = events - reports
        return requests


def piece_of(tuples: pl.DataFrame, part: Part) -> pl.DataFrame:
    """The contiguous piece that a part is of all tuples."""
    first, last = _bounds(len(tuples), part)
    return tuples.slice(first, last - first)


def _bounds(rows: int, part: Part) -> tuple[int, int]:
    return rows * part.index // part.count, rows * (part.index + 1) // part.count


def _count_seconds(data: Data, path: Path) -> None:
    """Write how many events, how many reports, and how many reports of each road every second of a data set has."""
    counts = np.zeros((ROADS + 2 * len(data.xways), data.last_second + 1), np.int64)
    for xway, file in data.parquet_files.items():
        events = pl.read_parquet(file, columns=["time", "type", "dir"])
        times, reports = events["time"].to_numpy(), events["type"].to_numpy() == POSITION_REPORT
        counts[0] += np.bincount(times, minlength=counts.shape[1])
        for direction in (0, 1):
            here = times[reports & (events["dir"].to_numpy() == direction)]
            road = counts[ROADS + 2 * data.xways.index(xway) + direction]
            road += np.bincount(here, minlength=counts.shape[1])
            counts[1] += road
    put_in_place(path, lambda file: np.save(file, counts))


def reports_between(counts: Path, begin: int, until: int) -> int:
    """How many position reports the data set has in the seconds [begin, until)."""
    return int(_counted(counts)[1, begin:until].sum())


@lru_cache(maxsize=2)
def _opened(folder: Path) -> Data:
    return Data(folder, folder)


@lru_cache(maxsize=2)
def _counted(path: Path) -> Array:
    counts: Array = np.load(path)
    return counts
