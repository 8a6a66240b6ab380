"""What feeds the network: the position reports and the requests of a data set, as two sources that go along together.

Reports are delivered by shard: a task reads the expressways and directions that belong to its slot and repeats them as
often as its replicas ask, so a replica costs memory bandwidth and no parsing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.compute as pc

from arterial.engine.shards import slots
from arterial.engine.sources.source import Ask, Part, Progress, Source
from arterial.linearroad.application.clock import RunClock
from arterial.linearroad.data import Data
from arterial.linearroad.events import POSITION_REPORT
from arterial.linearroad.replicate import Replication
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END

Array = np.ndarray[Any, Any]

ROAD_KEY = ("xway", "dir")

# Without pacing, steps are kept between these seconds: a step has some 0.4 s of cost that does not depend on its size,
# and answers are to be in time nevertheless.
SHORT_STEP, LONG_STEP = 1.5, 3.5
FIRST_SIZE, LARGEST_SIZE = 50_000, 8_000_000

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
    """The seconds [0, until) of the input. Those before the clock's `begin` are delivered without waiting.

    Its position is the next second to read, how many empty steps are left to warm up before the clock starts, and,
    where nothing paces it, when its last step was planned and how many tuples it was to have: steps that took long are
    followed by shorter ones, so that answers stay in time on a slow machine too.
    """

    clock: RunClock
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
        if second >= self.clock.begin and self.clock.runs_freely:
            size = _next_size(size, ask.now - before.position["at"])
            ask = replace(ask, tuples=min(ask.tuples, size))
        stop = self._fitting(second, ask)
        if second < self.clock.begin:
            stop = min(stop, self.clock.begin)
        elif stop > second and not self.clock.runs_freely:
            stop = min(stop, self.clock.last_due(ask.now) + 1)
        if ask.until is not None:
            stop = min(stop, ask.until + 1)
        if stop <= second:
            return before
        position = {"second": stop, "warm up": warm_up, "at": ask.now, "size": size}
        return Progress(position, END if end is not None and stop >= end else stop - 1)

    @property
    def _warm_second(self) -> int:
        """Before which second the empty steps are."""
        return self.clock.begin

    @abstractmethod
    def _end(self, ask: Ask) -> int | None:
        """The second before which the input ends, if it is known."""

    @abstractmethod
    def _fitting(self, second: int, ask: Ask) -> int:
        """The second before which a train ends, of those that are there; one second always fits."""


def _next_size(size: int, seconds: float) -> int:
    """How many tuples the next step has, after one of so many that took so long."""
    if seconds < SHORT_STEP:
        return min(2 * size, LARGEST_SIZE)
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

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many events are due and not yet read."""
        second = progress.position["second"]
        if second < self.clock.begin or self.clock.runs_freely or not self.clock.path.exists():
            return None
        due = min(self.clock.last_due(now) + 1, self.until)
        return int(_counted(self.counts)[0, second:due].sum()) * self.replication.times

    def _end(self, ask: Ask) -> int | None:
        return self.until

    def _fitting(self, second: int, ask: Ask) -> int:
        counts = _counted(self.counts)[0]
        total = np.cumsum(counts[second : second + 3600]) * self.replication.times
        return min(self.until, second + max(1, int(np.searchsorted(total, ask.tuples, side="right"))))


@dataclass(frozen=True)
class ReportFeed(StoredFeed):
    """The position reports, by expressway and direction."""

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """The files are by expressway, so a slot's tuples are found without looking at every one."""
        return key == ROAD_KEY

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The reports of the roads of a slot, or a contiguous piece of all, in the order of time."""
        start, stop = before.position["second"], after.position["second"]
        if start == stop:
            return REPORT_SCHEMA.empty()
        pieces = []
        for (xway, direction), replicas in self._roads(part).items():
            columns = _road_reports(self.folder, start, stop, xway, direction)
            if columns["time"].size:
                pieces.append(self._repeated(columns, np.array(replicas)))
        reports = _merged(pieces, start)
        if part.key is None:
            return piece_of(reports, part)
        return reports

    def _roads(self, part: Part) -> Mapping[tuple[int, int], list[int]]:
        """The expressways and directions that a part holds, each with its replicas."""
        xways = _opened(self.folder).xways
        every = [(xway, d, r) for r in range(self.replication.times) for xway in xways for d in (0, 1)]
        if part.key is not None:
            numbers = [xway + self.replication.xway_step * r for xway, _, r in every]
            keys = pl.DataFrame({"xway": numbers, "dir": [d for _, d, _ in every]})
            every = [
                road for road, slot in zip(every, slots(keys, part.key, part.count), strict=True) if slot == part.index
            ]
        roads: dict[tuple[int, int], list[int]] = {}
        for xway, direction, replica in every:
            roads.setdefault((xway, direction), []).append(replica)
        return roads

    def _repeated(self, columns: Mapping[str, Array], replicas: Array) -> dict[str, Array]:
        """Each report once for every replica, with the replica's numbers."""
        if replicas.size == 1 and replicas[0] == 0:
            return dict(columns)
        times = replicas.size
        repeated = {name: np.repeat(values, times) for name, values in columns.items()}
        for name, step in (("vid", self.replication.vid_step), ("xway", self.replication.xway_step)):
            shift = np.tile((replicas * step).astype(repeated[name].dtype), columns[name].size)
            repeated[name] += shift
        return repeated


@dataclass(frozen=True)
class RequestFeed(StoredFeed):
    """The requests of types 2, 3 and 4."""

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A contiguous piece of the requests, in the order of time."""
        start, stop = before.position["second"], after.position["second"]
        if start == stop:
            return REQUEST_SCHEMA.empty()
        found = _opened(self.folder).read(start, stop)
        found = found.filter(pc.not_equal(found["type"], POSITION_REPORT)).select(list(REQUEST_SCHEMA.names))
        requests = pl.DataFrame(pl.from_arrow(self.replication.events(found))).sort("time", maintain_order=True)
        return piece_of(requests, part)


def piece_of(tuples: pl.DataFrame, part: Part) -> pl.DataFrame:
    """The contiguous piece that a part is of all tuples."""
    first, last = (len(tuples) * n // part.count for n in (part.index, part.index + 1))
    return tuples.slice(first, last - first)


def count_seconds(data: Data, path: Path) -> None:
    """Write how many events, and how many of them are reports, each second of a data set has."""
    counts = np.zeros((2, data.last_second + 1), np.int64)
    for file in data.parquet_files.values():
        events = pl.read_parquet(file, columns=["time", "type"])
        times = events["time"].to_numpy()
        counts[0] += np.bincount(times, minlength=counts.shape[1])
        counts[1] += np.bincount(times[events["type"].to_numpy() == POSITION_REPORT], minlength=counts.shape[1])
    np.save(path, counts)


def reports_between(counts: Path, begin: int, until: int) -> int:
    """How many position reports the data set has in the seconds [begin, until)."""
    return int(_counted(counts)[1, begin:until].sum())


def _road_reports(folder: Path, start: int, stop: int, xway: int, direction: int) -> dict[str, Array]:
    """The position reports of one direction of an expressway, in some seconds."""
    data = _opened(folder)
    events = data.read(start, stop, [xway])
    wanted = (events["type"].to_numpy() == POSITION_REPORT) & (events["dir"].to_numpy() == direction)
    return {name: events[name].to_numpy()[wanted] for name in REPORT_SCHEMA.names}


def _merged(pieces: list[dict[str, Array]], start: int) -> pl.DataFrame:
    """Pieces that are each in the order of time, as one."""
    if not pieces:
        return REPORT_SCHEMA.empty()
    if len(pieces) == 1:
        return pl.DataFrame(pieces[0], schema=REPORT_SCHEMA.polars())
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in REPORT_SCHEMA.names}
    # Sixteen bits are sorted by radix, in a fraction of the time.
    offset = columns["time"] - start
    order = np.argsort(offset.astype(np.uint16) if offset.max() < 2**16 else offset, kind="stable")
    return pl.DataFrame({name: values[order] for name, values in columns.items()}, schema=REPORT_SCHEMA.polars())


@lru_cache(maxsize=2)
def _opened(folder: Path) -> Data:
    return Data(folder, folder)


@lru_cache(maxsize=2)
def _counted(path: Path) -> Array:
    counts: Array = np.load(path)
    return counts
