"""Trips, statistics, accidents, notices, alerts and charges: the stateful step for a shard of expressways."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from packed import ANSWERS, BLOB, CHARGE, CHARGES, EMIT, REPORT, REPORTS, Row, by_shard, frame, lines
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import IntegerType, StructField, StructType

SEGMENTS, FEET, CYCLE, EXIT_LANE, MINUTES, REACH = 100, 5280, 30, 4, 5, 5
# Means of up to ten speeds are whole numbers in this unit, so that sums are exact.
PARTS = 2520
TRIP = np.dtype([("chain", "i8"), ("pos", "i4"), ("quote", "i4"), ("lane", "i1"), ("seg", "i1"), ("run", "i1")])
SPEED = np.dtype([("cell", "i4"), ("vid", "i4"), ("speed", "i2")])
UNITS = 1 << 16


@dataclass
class Tolls:
    """What a minute's reports are answered with, by cell: a segment of a direction of an expressway."""

    minute: int
    lav: np.ndarray = field(default_factory=lambda: np.empty(0, np.int16))
    toll: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    accident: np.ndarray = field(default_factory=lambda: np.empty(0, np.int8))

    def reach(self, cells: int) -> None:
        """Make room for cells that were not seen before."""
        self.lav, self.accident = grown(self.lav, cells, -1), grown(self.accident, cells, -1)
        self.toll = grown(self.toll, cells, 0)


@dataclass
class Stops:
    """Where vehicles stand, and since when; the cells with an accident in some second of this and the next minute."""

    places: dict[tuple[int, int, int], dict[int, int]] = field(default_factory=dict)
    accidents: dict[int, set[int]] = field(default_factory=dict)


class Road(StatefulProcessor):
    """Rules 1 to 16. The trips of each of 30 phases are a value: a second reads and writes a thirtieth of them."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self.keys = keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        """State of a few large values: each call of the store takes more than a millisecond."""
        self.tolls = handle.getValueState("tolls", BLOB)
        self.means = handle.getValueState("means", BLOB)
        self.stops = handle.getValueState("stops", BLOB)
        self.speeds = handle.getListState("speeds", BLOB)
        self.trips = handle.getMapState("trips", StructType([StructField("phase", IntegerType())]), BLOB)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The seconds in order; what is no report goes on."""
        came = [Row(*row) for part in rows for row in part.itertuples(index=False)]
        reports = sorted(row for row in came if row.kind == REPORTS)
        made = [row for row in came if row.kind != REPORTS]
        if reports:
            tolls, stops = _load(self.tolls), _load(self.stops) or Stops()
            before, noted = tolls and tolls.minute, pickle.dumps(stops)
            tolls = tolls or Tolls(_minute(reports[0].second))
            speeds: list[bytes] = []
            for row in reports:
                while tolls.minute < _minute(row.second):
                    tolls = self._close(tolls, stops, speeds, self.keys.index(key[0]))
                    speeds = []
                made += self._second(row, tolls, stops, speeds)
            if speeds:
                self.speeds.appendValue((b"".join(speeds),))
            if tolls.minute != before:
                self.tolls.update((pickle.dumps(tolls),))
            if (now := pickle.dumps(stops)) != noted:
                self.stops.update((now,))
        yield frame(made)

    def _second(self, row: Row, tolls: Tolls, stops: Stops, speeds: list[bytes]) -> Iterator[Row]:
        second = row.second
        reports = np.frombuffer(row.payload, REPORT)
        chain = reports["vid"].astype(np.int64) * UNITS + reports["unit"]
        order = np.argsort(chain)
        reports, chain = reports[order], chain[order]
        vid, lane, seg, pos = (reports[name] for name in ("vid", "lane", "seg", "pos"))
        cell = reports["unit"] // len(self.keys) * SEGMENTS + seg
        tolls.reach(int(cell.max()) + 1)

        # Rule 8: the predecessor is the report of the same vehicle and direction exactly 30 s before.
        phase = (second % CYCLE,)
        before = _trips(self.trips.getValue(phase), second - CYCLE)
        at = np.minimum(np.searchsorted(before["chain"], chain), max(len(before) - 1, 0))
        last = before[at] if len(before) else np.zeros(len(chain), TRIP)
        goes_on = (last["chain"] == chain) & bool(len(before))
        stays = goes_on & (last["seg"] == seg)
        same = goes_on & (last["lane"] == lane) & (last["pos"] == pos)
        trips = np.empty(len(chain), TRIP)
        trips["chain"], trips["pos"], trips["lane"], trips["seg"] = chain, pos, lane, seg
        trips["run"] = np.where(same, np.minimum(last["run"] + 1, 4), 1)
        trips["quote"] = np.where(stays, last["quote"], np.where(lane == EXIT_LANE, 0, tolls.toll[cell]))
        self.trips.updateValue(phase, (np.int32(second).tobytes() + trips.tobytes(),))

        speeds.append(_columns(SPEED, cell=cell, vid=vid, speed=reports["speed"]).tobytes())
        stopped = (trips["run"] >= 4) & (lane >= 1) & (lane <= 3)
        if stopped.any():
            stop(stops, second, reports[stopped], len(self.keys))

        # Rule 16: the toll quoted on entering a segment is charged when the report from the next one arrives.
        pays = goes_on & ~stays & (last["quote"] > 0)
        charges = _columns(CHARGE, vid=vid[pays], amount=last["quote"][pays])
        for key, part in by_shard(charges, charges["vid"], self.keys):
            yield Row(key, second, CHARGES, part.tobytes())

        told = ~stays & (lane != EXIT_LANE)
        text = b""
        if told.any():
            text = lines(0, vid[told], second, EMIT, tolls.lav[cell[told]], trips["quote"][told])
        warned = told & (tolls.accident[cell] >= 0)
        if warned.any():
            xway, way = np.divmod(reports["unit"][warned], 2)
            text += lines(1, second, EMIT, vid[warned], xway, tolls.accident[cell[warned]], way)
        if text:
            yield Row(row.key, second, ANSWERS, text)

    def _close(self, tolls: Tolls, stops: Stops, speeds: list[bytes], shard: int) -> Tolls:
        """The minute is over: its means, and what follows from them for the next one."""
        log = b"".join([*(blob for (blob,) in self.speeds.get()), *speeds])
        self.speeds.clear()
        means: Means = _load(self.means) or {}
        means[tolls.minute] = minute_means(np.frombuffer(log, SPEED))
        means = {minute: one for minute, one in means.items() if minute > tolls.minute - MINUTES}
        self.means.update((pickle.dumps(means),))
        return following(tolls, means, accidents_ended(stops, tolls.minute), shard, len(self.keys))


Means = dict[int, tuple[np.ndarray, np.ndarray]]
"""By minute: for each cell the sum of its vehicles' mean speeds, in parts, and the number of vehicles."""


def minute_means(log: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rule 1: the mean of each vehicle's speeds, then of the vehicles."""
    vehicle = log["cell"].astype(np.int64) << 32 | log["vid"]
    vehicles, number = np.unique(vehicle, return_inverse=True)
    speeds = np.bincount(number, log["speed"], len(vehicles)).astype(np.int64)
    own = speeds * PARTS // np.maximum(np.bincount(number, minlength=len(vehicles)), 1)
    cell = vehicles >> 32
    # Sums of whole numbers, so that doubles are exact.
    return np.bincount(cell, own).astype(np.int64), np.bincount(cell)


def stop(stops: Stops, second: int, reports: np.ndarray, shards: int) -> None:
    """Rules 9, 10 and 12: a fourth equal report stops a vehicle for 30 s; two at one place are an accident."""
    for vid, unit, pos, _, lane, _ in reports.tolist():
        here = stops.places.setdefault((unit, lane, pos), {})
        for other, time in list(here.items()):
            if time <= second - CYCLE:
                del here[other]
            elif other != vid:
                for minute in range(_minute(second), _minute(time + CYCLE - 1) + 1):
                    stops.accidents.setdefault(minute, set()).add(unit // shards * SEGMENTS + pos // FEET)
        here[vid] = second


def accidents_ended(stops: Stops, minute: int) -> set[int]:
    """The cells with an accident in the minute that is over. Vehicles that stand no longer are forgotten."""
    for place, here in list(stops.places.items()):
        if max(here.values()) <= minute * 60 - CYCLE:
            del stops.places[place]
    return stops.accidents.pop(minute, set())


def following(tolls: Tolls, means: Means, accidents: set[int], shard: int, shards: int) -> Tolls:
    """Rules 2 to 6, 11 and 13: the tolls of the minute after that of `tolls`."""
    cells = max(len(tolls.lav), *(len(cars) for _, cars in means.values()))
    cells = -(-cells // SEGMENTS) * SEGMENTS
    total, counted = np.zeros(cells), np.zeros(cells, np.int64)
    for speeds, cars in means.values():
        some = np.flatnonzero(cars)
        total[some] += speeds[some] / (PARTS * cars[some])
        counted[some] += 1
    # A mean that is a whole number must not fall below it by a rounding error.
    lav = np.where(counted > 0, np.floor(total / np.maximum(counted, 1) + 1e-9), -1)
    over = grown(means[tolls.minute][1], cells, 0) - 50
    accident = grown(np.empty(0, np.int8), cells, -1)
    for away in reversed(range(REACH)):
        for cell in accidents:
            local, seg = divmod(cell, SEGMENTS)
            back = seg - away if (local * shards + shard) % 2 == 0 else seg + away
            if 0 <= back < SEGMENTS:
                accident[local * SEGMENTS + back] = seg
    toll = np.where((lav >= 0) & (lav < 40) & (over > 0) & (accident < 0), 2 * over * over, 0)
    return Tolls(tolls.minute + 1, lav.astype(np.int16), toll.astype(np.int32), accident)


def grown(values: np.ndarray, size: int, filled: int) -> np.ndarray:
    """The array, made longer if it is too short."""
    more = max(0, size - len(values))
    return np.concatenate([values, np.full(more, filled, values.dtype)]) if more else values


def _minute(second: int) -> int:
    return second // 60 + 1


def _load(state: Any) -> Any:
    value = state.get()
    return None if value is None else pickle.loads(value[0])


def _trips(value: Any, time: int) -> np.ndarray:
    """The trips of a phase, if their reports are of that second."""
    if value is None or np.frombuffer(value[0], np.int32, 1)[0] != time:
        return np.empty(0, TRIP)
    return np.frombuffer(value[0], TRIP, offset=4)


def _columns(kind: np.dtype[Any], **values: np.ndarray) -> np.ndarray:
    rows = np.empty(len(next(iter(values.values()))), kind)
    for name, column in values.items():
        rows[name] = column
    return rows
