"""Drives one direction of one expressway through time, a chunk of seconds after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit

from arterial.linearroad.semantics.city import REPORT_SECONDS, SEGMENTS, WEST
from arterial.linearroad.simulate.model.accidents import Accidents, cause_accidents, make_accidents
from arterial.linearroad.simulate.model.entering import enter
from arterial.linearroad.simulate.model.road import (
    NOWHERE,
    Count,
    Log,
    Queue,
    Reports,
    Road,
    tidy,
)
from arterial.linearroad.simulate.model.sweep import sweep
from arterial.linearroad.simulate.model.trips import Trips
from arterial.linearroad.simulate.settings import DRIVING, RAMPS, Driving, Ramps, Settings

CHUNK_SECONDS = 60


@dataclass(frozen=True)
class Traffic:
    """One direction, ready to be driven."""

    settings: Settings
    road: Road
    count: Count
    queue: Queue
    accidents: Accidents
    log: Log

    @classmethod
    def begin(cls, settings: Settings, xway: int, direction: int, trips: Trips, log: Log) -> Traffic:
        """An empty road at second 0."""
        here = np.flatnonzero(trips.direction == direction).astype(np.int32)
        entrance, leave = trips.entrance[here], trips.exit[here]
        if direction == WEST:
            entrance, leave = SEGMENTS - 1 - entrance, SEGMENTS - 1 - leave
        seed = np.random.default_rng([settings.seed, xway, direction, 20]).integers(1, 2**63, 1, dtype=np.uint64)
        return cls(
            settings,
            _empty_road(len(here)),
            Count(np.zeros(len(here), np.int32), np.zeros(2, np.int64), np.full(SEGMENTS, NOWHERE), seed),
            Queue(
                trips.due[here],
                entrance.astype(np.int16),
                leave.astype(np.int16),
                trips.desired[here],
                here,
                np.full(len(here), -1, np.int32),
                np.full(SEGMENTS, -1, np.int32),
                np.full(SEGMENTS, -1, np.int32),
                np.zeros(1, np.int64),
            ),
            make_accidents(settings, xway, direction),
            log,
        )

    def drive(self) -> Iterator[tuple[int, Reports]]:
        """Yields (first second of a chunk, its reports) to the end; the seconds before the data's start give none."""
        second = 0
        while second < self.settings.stop_at:
            # A chunk does not cross the start of the data.
            border = self.settings.start_at if second < self.settings.start_at else self.settings.stop_at
            stop = min(second + CHUNK_SECONDS, border)
            reports = self._room(second, stop)
            written = drive_chunk(
                self.road,
                self.count,
                self.queue,
                self.accidents,
                self.log,
                reports,
                second,
                stop,
                second >= self.settings.start_at,
                DRIVING,
                RAMPS,
            )
            yield (
                second,
                Reports(
                    reports.trip[:written],
                    reports.along[:written],
                    reports.speed[:written],
                    reports.lane[:written],
                    reports.until,
                ),
            )
            second = stop

    def _room(self, second: int, stop: int) -> Reports:
        rounds = -(-(stop - second) // REPORT_SECONDS)
        due = int(np.searchsorted(self.queue.due, stop - 1, side="right"))
        ended = int((self.log.ended[self.queue.trip] >= 0).sum())
        most = (due - ended) * rounds
        return Reports(
            np.empty(most, np.int32),
            np.empty(most, np.int32),
            np.empty(most, np.int8),
            np.empty(most, np.int8),
            np.empty(stop - second, np.int64),
        )


@njit(cache=True)
def drive_chunk(
    road: Road,
    count: Count,
    queue: Queue,
    accidents: Accidents,
    log: Log,
    reports: Reports,
    first: int,
    stop: int,
    reporting: bool,
    driving: Driving,
    ramps: Ramps,
) -> int:
    """Live through the seconds [first, stop); returns the number of reports."""
    limits = np.empty(SEGMENTS)
    reported = 0
    for second in range(first, stop):
        enter(road, count, queue, log, second, driving, ramps)
        cause_accidents(accidents, road, count, second, limits, driving)
        reported = sweep(road, count, log, reports, reported, second, reporting, limits, driving, ramps)
        reports.until[second - first] = reported
    tidy(road, count)
    return reported


def _empty_road(most: int) -> Road:
    return Road(
        along=np.zeros(most),
        speed=np.zeros(most),
        desired=np.zeros(most),
        exit_at=np.zeros(most),
        stop_at=np.zeros(most),
        stop_until=np.zeros(most, np.int32),
        trip=np.zeros(most, np.int32),
        lane=np.zeros(most, np.int8),
        phase=np.zeros(most, np.int8),
    )
