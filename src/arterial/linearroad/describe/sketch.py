"""The sketch of one expressway: everything that a description needs of its events, small enough to be sent around."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from arterial.linearroad.data.dataset import Data
from arterial.linearroad.describe.accidents import Accident, accident_minutes, find_accidents
from arterial.linearroad.describe.chains import Chains
from arterial.linearroad.describe.segments import latest_average_velocity, minute_statistics, near, tolls
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.semantics.city import MAX_SPEED, MINUTE_SECONDS, SEGMENTS

# The middle fifth of the road, where most trips end (§3.1.1: exits are normal around segment 50).
DOWNTOWN = slice(40, 60)
TYPES = 5
MINUTES_READ = 5


@dataclass(frozen=True)
class Sketch:
    """One expressway. Arrays over (minute, dir, segment) are about the minute in which a vehicle enters the segment."""

    xway: int
    reports_per_second: NDArray[np.int64]
    events_by_type: NDArray[np.int64]
    requests_per_minute: NDArray[np.int64]
    speeds: NDArray[np.int64]
    speeds_downtown: NDArray[np.int64]
    speed_sums: NDArray[np.int64]
    vehicles: NDArray[np.int64]
    trips: int
    entries: int
    exits: int
    lav: NDArray[np.float32]
    cars: NDArray[np.int32]
    toll: NDArray[np.int32]
    notices: NDArray[np.int32]
    alerts: int
    accidents: list[Accident]


def sketch(folder: Path, xway: int, done: Callable[[], None] = lambda: None) -> Sketch:
    """Read an expressway of the data set in `folder`, a minute at a time; `done` is called after each."""
    data = Data(folder, folder)
    seconds = data.last_second + 1
    minutes = -(-seconds // MINUTE_SECONDS)
    chains = Chains(minutes)
    per_second = np.zeros(minutes * MINUTE_SECONDS, np.int64)
    by_type, requests = np.zeros(TYPES, np.int64), np.zeros((minutes, TYPES), np.int64)
    histogram, downtown = np.zeros(MAX_SPEED + 1, np.int64), np.zeros(MAX_SPEED + 1, np.int64)
    cars = np.zeros((minutes, 2, SEGMENTS), np.int64)
    speeds = np.full((minutes, 2, SEGMENTS), np.nan)
    speed_sums = np.zeros(minutes, np.int64)
    for minute, events in _minutes(data, xway):
        done()
        kind = events["type"].to_numpy()
        requests[minute] = np.bincount(kind, minlength=TYPES)
        by_type += requests[minute]
        reports = kind == POSITION_REPORT
        if not reports.any():
            continue
        time, vid, speed, lane, dir, seg, pos = (
            _column(events, name, reports) for name in ("time", "vid", "speed", "lane", "dir", "seg", "pos")
        )
        per_second += np.bincount(time, minlength=len(per_second))
        histogram += np.bincount(speed, minlength=len(histogram))
        downtown += np.bincount(speed[(seg >= DOWNTOWN.start) & (seg < DOWNTOWN.stop)], minlength=len(downtown))
        speed_sums[minute] = speed.sum(dtype=np.int64)
        cars[minute], speeds[minute] = minute_statistics(vid, speed, dir, seg)
        chains.follow(time, vid, lane, dir, seg, pos)
    accidents = find_accidents(xway, chains.stops())
    close = near(accident_minutes(accidents, minutes))
    lav = latest_average_velocity(speeds)
    return Sketch(
        xway=xway,
        reports_per_second=per_second[:seconds],
        events_by_type=by_type,
        requests_per_minute=requests[:, 1:].sum(axis=1),
        speeds=histogram,
        speeds_downtown=downtown,
        speed_sums=speed_sums,
        vehicles=chains.vehicles(),
        trips=chains.trips,
        entries=chains.entries,
        exits=chains.exits,
        lav=lav.astype(np.float32),
        cars=cars.astype(np.int32),
        toll=tolls(cars, lav, close).astype(np.int32),
        notices=chains.notices.astype(np.int32),
        alerts=int(chains.notices[close].sum()),
        accidents=accidents,
    )


def _minutes(data: Data, xway: int) -> Iterator[tuple[int, pa.Table]]:
    """An expressway's events minute by minute, several read at a time so that few row groups are read twice."""
    for first in range(data.first_second // MINUTE_SECONDS, data.last_second // MINUTE_SECONDS + 1, MINUTES_READ):
        events = data.read(first * MINUTE_SECONDS, (first + MINUTES_READ) * MINUTE_SECONDS, [xway])
        minutes = np.arange(first, first + MINUTES_READ + 1)
        cuts = np.searchsorted(events["time"].to_numpy(), minutes * MINUTE_SECONDS)
        for minute, start, stop in zip(minutes.tolist(), cuts, cuts[1:], strict=False):
            if stop > start:
                yield minute, events.slice(start, stop - start)


def _column(events: pa.Table, name: str, rows: NDArray[np.bool_]) -> NDArray[Any]:
    column: NDArray[Any] = events[name].to_numpy()
    return column if rows.all() else column[rows]
