"""Accidents: where they are and for how long (rules 9–13; §3.2.2, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arterial.linearroad.reference.events import Event, Kept
from arterial.linearroad.reference.statistics import Place
from arterial.linearroad.semantics.city import (
    EAST,
    REPORT_SECONDS,
    SEGMENT_FEET,
    SEGMENTS,
    STOPPED_REPORTS,
    minute_of,
)
from arterial.linearroad.semantics.profiles import Profile

# Expressway, direction, lane, position.
Spot = tuple[int, int, int, int]


class Accidents(Protocol):
    """What the other rules ask about accidents."""

    def take(self, second: list[Kept]) -> None:
        """Take in all reports of a second."""

    def in_segment(self, time: int, place: Place) -> bool:
        """Whether an accident in a segment has effect on what happens at a time."""


def accidents_of(profile: Profile) -> EveryAccident | FirstTwoCars:
    """The detection that a profile asks for (rule 10)."""
    return EveryAccident(profile) if profile.accident_cars == "all_stopped" else FirstTwoCars(profile)


def downstream(seg: int, direction: int, i: int) -> int:
    """Rule 13: Dn(s, d, i)."""
    return min(seg + i, SEGMENTS - 1) if direction == EAST else max(seg - i, 0)


def segments_ahead(report: Event, seg: int) -> int:
    """How many segments a segment lies downstream of a report; below 0 it lies upstream."""
    return seg - report.seg if report.dir == EAST else report.seg - seg


def nearest(accidents: Accidents, report: Event, reach: tuple[int, int]) -> int | None:
    """Rules 13 and 14: the segment of the nearest accident downstream of a report, None if there is none."""
    for i in range(reach[0], reach[1] + 1):
        seg = downstream(report.seg, report.dir, i)
        if accidents.in_segment(report.time, (report.xway, report.dir, seg)):
            return seg
    return None


class EveryAccident:
    """Rules 10–12 of `spec`: at least two vehicles are stopped at one spot, second by second."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._stopped: dict[int, dict[Spot, set[int]]] = {}
        self._seconds: set[tuple[Place, int]] = set()
        self._minutes: set[tuple[Place, int]] = set()

    def take(self, second: list[Kept]) -> None:
        """Rule 12: a fourth identical report stops its vehicle for 30 seconds, and so does every further one."""
        for kept in second:
            report = kept.report
            if kept.run < STOPPED_REPORTS or report.lane not in self.profile.accident_lanes:
                continue
            spot = (report.xway, report.dir, report.lane, report.pos)
            for time in range(report.time, report.time + REPORT_SECONDS):
                cars = self._stopped.setdefault(time, {}).setdefault(spot, set())
                cars.add(report.vid)
                if len(cars) >= 2:
                    place = segment_of(spot)
                    self._seconds.add((place, time))
                    self._minutes.add((place, minute_of(time)))

    def in_segment(self, time: int, place: Place) -> bool:
        """Rule 11: Acc_in_Seg of the minute before, or of this very second."""
        if self.profile.accident_starts == "at_once":
            return (place, time) in self._seconds
        return (place, minute_of(time) - 1) in self._minutes

    def spots(self, time: int) -> set[Spot]:
        """The spots of all accidents of a second."""
        return {spot for spot, cars in self._stopped.get(time, {}).items() if len(cars) >= 2}


@dataclass
class _Recorded:
    cars: tuple[int, int]
    minute: int
    cleared: int | None = None


class FirstTwoCars:
    """Rules 10–12 of `walmart`: the first two cars stopped at a spot, and one accident a segment, ever."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._stopped: dict[Spot, list[int]] = {}
        self._accidents: dict[Place, _Recorded] = {}

    def take(self, second: list[Kept]) -> None:
        """Cars that move, then cars that stop, so that the order of a second's lines does not matter."""
        for kept in second:
            if kept.predecessor is not None and kept.run == 1:
                self._move(kept.predecessor.report, kept.report.time)
        for kept in second:
            if kept.run == STOPPED_REPORTS:
                self._stop(kept.report)

    def in_segment(self, time: int, place: Place) -> bool:
        """Rule 11: from the minute after the second car's stop through the minute in which the first of them moves."""
        accident = self._accidents.get(place)
        if accident is None or minute_of(time) <= accident.minute:
            return False
        return accident.cleared is None or minute_of(time) <= accident.cleared

    def _move(self, left: Event, time: int) -> None:
        cars = self._stopped.get((left.xway, left.dir, left.lane, left.pos), [])
        if left.vid in cars:
            cars.remove(left.vid)
        accident = self._accidents.get((left.xway, left.dir, left.seg))
        if accident is not None and left.vid in accident.cars and accident.cleared is None:
            accident.cleared = minute_of(time)

    def _stop(self, report: Event) -> None:
        cars = self._stopped.setdefault((report.xway, report.dir, report.lane, report.pos), [])
        if len(cars) >= 2 or report.vid in cars:
            return
        cars.append(report.vid)
        place = (report.xway, report.dir, report.seg)
        if len(cars) == 2 and place not in self._accidents:
            self._accidents[place] = _Recorded((cars[0], cars[1]), minute_of(report.time))


def segment_of(spot: Spot) -> Place:
    """Rule 10: an accident is placed by its position."""
    xway, direction, _, pos = spot
    return xway, direction, pos // SEGMENT_FEET
