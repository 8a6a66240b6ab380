"""Segment statistics and tolls (rules 1–6; §3.2.1, table 2)."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from arterial.linearroad.reference.events import Event
from arterial.linearroad.semantics.city import LAV_MINUTES, minute_of
from arterial.linearroad.semantics.profiles import Profile

# Expressway, direction, segment.
Place = tuple[int, int, int]


class SegmentStatistics:
    """The speeds that were reported, by segment, minute and vehicle."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._speeds: dict[tuple[Place, int], dict[int, list[int]]] = {}
        # A minute's LAV is of earlier minutes, complete when it is asked for: it need not be worked out twice.
        self._lav: dict[tuple[Place, int], int | None] = {}

    def add(self, report: Event) -> None:
        """Count a report, from whatever lane."""
        vehicles = self._speeds.setdefault(_key(report), {})
        vehicles.setdefault(report.vid, []).append(report.speed)

    def add_hidden(self, report: Event) -> None:
        """Rule 5 of `walmart`: an ignored report counts its vehicle if it is the first of its segment and minute."""
        self._speeds.setdefault(_key(report), {report.vid: []})

    def cars(self, minute: int, place: Place) -> int:
        """Rule 5: the number of distinct vehicles that reported from a segment in a minute."""
        return len(self._speeds.get((place, minute), {}))

    def lav(self, minute: int, place: Place) -> int | None:
        """Rules 1–4: the mean speed of the up to five minutes before `minute`, None if there was no report."""
        if (place, minute) not in self._lav:
            self._lav[place, minute] = self._work_out_lav(minute, place)
        return self._lav[place, minute]

    def toll(self, minute: int, place: Place) -> int:
        """Rule 6 but for accidents, which the caller knows."""
        lav = self.lav(minute, place)
        if lav is None:
            return 0
        return floor(toll_of(Fraction(lav), Fraction(self.cars(minute - 1, place)), self.profile))

    def _work_out_lav(self, minute: int, place: Place) -> int | None:
        before = [self._speeds.get((place, minute - back), {}) for back in range(1, LAV_MINUTES + 1)]
        if self.profile.lav_mean == "of_minute_means":
            means = [
                _mean([_mean([Fraction(speed) for speed in speeds]) for speeds in vehicles.values() if speeds])
                for vehicles in before
                if any(vehicles.values())
            ]
        else:
            means = [Fraction(speed) for vehicles in before for speeds in vehicles.values() for speed in speeds]
        if not means:
            return None
        mean = _mean(means)
        return floor(mean) if self.profile.lav_rounding == "floor" else half_up(mean)


def toll_of(lav: Fraction, cars: Fraction, profile: Profile) -> Fraction:
    """Rule 6: the formula."""
    if lav >= profile.toll_lav_below:
        return Fraction(0)
    if profile.toll_needs_more_cars and cars <= profile.toll_free_cars:
        return Fraction(0)
    return profile.base_toll * (cars - profile.toll_free_cars) ** 2


def half_up(value: Fraction) -> int:
    """Round to the nearest integer, a half upwards."""
    return floor(value + Fraction(1, 2))


def _key(report: Event) -> tuple[Place, int]:
    return (report.xway, report.dir, report.seg), minute_of(report.time)


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
