"""The sketch of one expressway: everything that a description needs of its events, small enough to be sent around.

Trips, accidents, LAV and tolls are worked out by the validator's functions, in the profile `spec`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from arterial.linearroad.data.dataset import Data
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.semantics.city import (
    EAST,
    ENTRANCE_LANE,
    EXIT_LANE,
    MAX_SPEED,
    MINUTE_SECONDS,
    SEGMENT_FEET,
    SEGMENTS,
    WEST,
)
from arterial.linearroad.semantics.profiles import SPEC
from arterial.linearroad.validate.expected.accidents import all_accidents, effect_of_minutes, in_reach
from arterial.linearroad.validate.expected.chains import Ints, chains, read_reports
from arterial.linearroad.validate.expected.segments import UNKNOWN, cars_table, cells_of, lav_table, toll_table

# The middle fifth of the road, where most trips end (§3.1.1: exits are normal around segment 50).
DOWNTOWN = slice(40, 60)
TYPES = 5


@dataclass(frozen=True)
class Accident:
    """Where and when at least two vehicles were stopped together, [start, end), and how many there were at most."""

    xway: int
    dir: int
    lane: int
    pos: int
    start: int
    end: int
    vehicles: int

    @property
    def seg(self) -> int:
        """The segment it is in."""
        return self.pos // SEGMENT_FEET


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
    """Read an expressway of the data set in `folder`, a direction at a time; `done` is called after each."""
    data = Data(folder, folder)
    file, seconds = data.parquet_files[xway], data.last_second + 1
    minutes = -(-seconds // MINUTE_SECONDS)
    tables = (minutes, 2, SEGMENTS)
    lav, cars, toll = np.zeros(tables, np.float32), np.zeros(tables, np.int32), np.zeros(tables, np.int32)
    notices = np.zeros(tables, np.int32)
    per_second, speed_sums = np.zeros(seconds, np.int64), np.zeros(minutes, np.int64)
    speeds, downtown = np.zeros(MAX_SPEED + 1, np.int64), np.zeros(MAX_SPEED + 1, np.int64)
    vehicles: list[Ints] = []
    accidents: list[Accident] = []
    trips = entries = exits = alerts = 0
    for way in (EAST, WEST):
        found = chains(read_reports(file, way), SPEC)
        rows = found.reports
        minute = rows.time // MINUTE_SECONDS
        per_second += np.bincount(rows.time, minlength=seconds)
        speed_sums += np.bincount(minute, rows.speed, minlength=minutes).astype(np.int64)
        speeds += np.bincount(rows.speed, minlength=len(speeds))
        middle = (rows.seg >= DOWNTOWN.start) & (rows.seg < DOWNTOWN.stop)
        downtown += np.bincount(rows.speed[middle], minlength=len(downtown))
        begins, leaving = ~found.follows, rows.lane == EXIT_LANE
        vehicles.append(np.unique(rows.vid[begins]))
        trips += int(begins.sum())
        entries += int((begins & (rows.lane == ENTRANCE_LANE)).sum())
        exits += int((leaving & (begins | ~np.roll(leaving, 1))).sum())

        crashes = all_accidents(found, SPEC)
        effect = effect_of_minutes(found, minutes, SPEC)
        counted = cells_of(found.reports)
        known, cars[:, way] = lav_table(counted, minutes, SPEC), cars_table(counted, found, minutes)
        lav[:, way] = np.where(known == UNKNOWN, np.nan, known)
        free = in_reach(effect, way, SPEC.toll_free_segments) > 0
        toll[:, way] = np.where(free, 0, toll_table(known, cars[:, way], SPEC))
        noticed = found.enters & ~leaving
        cells = minute[noticed] * SEGMENTS + rows.seg[noticed]
        notices[:, way] = np.bincount(cells, minlength=minutes * SEGMENTS).reshape(minutes, SEGMENTS)
        alerts += int(notices[:, way][in_reach(effect, way, SPEC.alert_segments) > 0].sum())
        columns = (crashes.lane, crashes.pos, crashes.since, crashes.until, crashes.cars)
        accidents += [Accident(xway, way, *place) for place in zip(*(c.tolist() for c in columns), strict=True)]
        done()
    kinds, per_minute = _requests(file, minutes)
    kinds[POSITION_REPORT] = per_second.sum()
    return Sketch(
        xway=xway,
        reports_per_second=per_second,
        events_by_type=kinds,
        requests_per_minute=per_minute,
        speeds=speeds,
        speeds_downtown=downtown,
        speed_sums=speed_sums,
        vehicles=np.union1d(*vehicles),
        trips=trips,
        entries=entries,
        exits=exits,
        lav=lav,
        cars=cars,
        toll=toll,
        notices=notices,
        alerts=alerts,
        accidents=sorted(accidents, key=lambda accident: (accident.start, accident.dir, accident.pos)),
    )


def _requests(file: Path, minutes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many requests there are of each type, and in each minute."""
    asked = pl.scan_parquet(file).filter(pl.col("type") != POSITION_REPORT).select("type", "time").collect()
    return (
        np.bincount(asked["type"].to_numpy(), minlength=TYPES),
        np.bincount(asked["time"].to_numpy() // MINUTE_SECONDS, minlength=minutes),
    )
