"""What is asked of the ten weeks before (rules 18, 19; §3.2.3, table 6 and "Travel Time Estimation")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor
from typing import NamedTuple

from arterial.linearroad.reference.events import Event
from arterial.linearroad.reference.statistics import half_up, toll_of
from arterial.linearroad.semantics.city import EAST, MINUTE_SECONDS, MINUTES_A_DAY, WEST
from arterial.linearroad.semantics.profiles import Profile

MILE_SECONDS_AT_1_MPH = 3600
UNKNOWN_JOURNEY = (-1, -1)


class TollRow(NamedTuple):
    """A row of TollHistory."""

    vid: int
    day: int
    xway: int
    tolls: int


class SegmentRow(NamedTuple):
    """A row of SegmentHistory."""

    day: int
    minute: int
    xway: int
    dir: int
    seg: int
    lav: int
    cnt: int
    toll: int = 0


class Expenditures:
    """Rule 18."""

    def __init__(self, rows: Iterable[TollRow], profile: Profile) -> None:
        self.profile = profile
        self._tolls: Mapping[tuple[int, int, int], int] = {(row.vid, row.day, row.xway): row.tolls for row in rows}

    def of(self, request: Event) -> int | None:
        """The tolls of a vehicle, day and expressway; None is no answer."""
        return self._tolls.get((request.vid, request.day, request.xway), self.profile.unknown_expenditure)


class Journeys:
    """Rule 19."""

    def __init__(self, rows: Iterable[SegmentRow], profile: Profile) -> None:
        self.profile = profile
        self._rows: dict[tuple[int, int, int, int, int], list[SegmentRow]] = {}
        for row in rows:
            weekday = (row.day - 1) % 7 + 1
            self._rows.setdefault((row.xway, row.dir, row.seg, weekday, row.minute), []).append(row)

    def of(self, request: Event) -> tuple[int, int]:
        """The travel time in seconds and the toll of the journey that a request describes."""
        if request.sinit == request.send and not self.profile.travel_includes_end:
            return 0, 0
        step, direction = (1, EAST) if request.send >= request.sinit else (-1, WEST)
        end = request.send + step if self.profile.travel_includes_end else request.send
        started = clock = Fraction((request.tod - 1) * MINUTE_SECONDS)
        toll = Fraction(0)
        for seg in range(request.sinit, end, step):
            days, minute = divmod(floor(clock / MINUTE_SECONDS), MINUTES_A_DAY)
            weekday = request.dow
            if self.profile.travel_over_midnight == "next_weekday":
                weekday = (request.dow - 1 + days) % 7 + 1
            rows = self._rows.get((request.xway, direction, seg, weekday, minute + 1), [])
            speeds = [row.lav for row in rows if row.lav > 0]
            if not speeds:
                return UNKNOWN_JOURNEY
            lav = Fraction(sum(speeds), len(speeds))
            cars = Fraction(sum(row.cnt for row in rows), len(rows))
            toll += toll_of(lav, cars, self.profile)
            clock += MILE_SECONDS_AT_1_MPH / lav
        return half_up(clock - started), half_up(toll)
