"""What the reports of one expressway and direction must cause: toll notices, charges, alerts (§3.2.1, §3.2.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from arterial.linearroad.semantics.city import EAST, EXIT_LANE, MINUTE_SECONDS, REPORT_SECONDS, SEGMENT_FEET
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.accidents import (
    Intervals,
    all_accidents,
    effect_of_minutes,
    in_reach,
    seconds_with,
)
from arterial.linearroad.validate.expected.chains import Chains, Flags, Ints, Reports, chains
from arterial.linearroad.validate.expected.segments import UNKNOWN, Cells, cars_table, cells_of, lav_table, toll_table

NEVER = -1


@dataclass(frozen=True)
class Traffic:
    """Expected of one expressway and direction.

    `notices`: vid, time, xway, dir, seg, lav, toll, cars (of the minute before), reach (bit i: an accident i segments
    on), charged (the second in which the toll is charged, or NEVER).
    `alerts`: vid, time, xway, dir, seg (of the report), nearest (the accident's), reach (of what is accepted).
    `credits`: vid, time, xway: leaving before an accident (thesis).
    """

    notices: pl.DataFrame
    alerts: pl.DataFrame
    credits: pl.DataFrame


def traffic(reports: Reports, xway: int, direction: int, profile: Profile) -> Traffic:
    """All that the reports of one expressway and direction cause."""
    return Road(reports, xway, direction).traffic(profile)


@dataclass(frozen=True)
class Parts:
    """The chains of reports; cells, cars and LAV of every minute and segment; where and when accidents have effect.

    `effect` has a row a minute, or a second where accidents have effect at once; `accidents` only where needed.
    """

    chains: Chains
    cells: Cells
    cars: Ints
    lav: Ints
    accidents: Intervals | None
    effect: Flags


class Road:
    """The reports of one expressway and direction, judged by one profile after another.

    What profiles have in common is worked out once as long as they come with the same chains in a row.
    """

    def __init__(self, reports: Reports, xway: int, direction: int) -> None:
        self.reports, self.xway, self.direction = reports, xway, direction
        self.seconds = int(reports.time.max(initial=0)) + 1
        self.minutes = self.seconds // MINUTE_SECONDS + 1
        self._chained_by: tuple[Any, ...] | None = None
        self._known: dict[tuple[Any, ...], Any] = {}

    def traffic(self, profile: Profile) -> Traffic:
        """All that the reports cause."""
        parts = self.parts(profile)
        enters = self._once(("enters",), lambda: _entering(parts.chains))
        return _caused(self, enters, parts, profile)

    def parts(self, profile: Profile) -> Parts:
        """What the rules look at on the way to what the reports cause."""
        if self._chained_by != chained_by(profile):
            self._chained_by = chained_by(profile)
            self._known = {}
        found = self._once(("chains",), lambda: chains(self.reports, profile))
        cells = self._once(("cells",), lambda: cells_of(found.reports))
        cars = self._once(("cars",), lambda: cars_table(cells, found, self.minutes))
        lav = self._once(
            ("lav", profile.lav_mean, profile.lav_rounding), lambda: lav_table(cells, self.minutes, profile)
        )
        accidents = None
        if profile.accident_starts == "at_once" or profile.alert_when == "detection" or profile.exit_credit:
            accidents = self._once(("accidents", profile.accident_lanes), lambda: all_accidents(found, profile))
        effect = self._once(("effect", *_accidents_by(profile)), lambda: self._effect(found, accidents, profile))
        return Parts(found, cells, cars, lav, accidents, effect)

    def forget(self) -> None:
        """Free what was worked out, and the reports."""
        self._known = {}
        self.reports = self.reports.take(np.array([], np.intp))

    def _effect(self, found: Chains, accidents: Intervals | None, profile: Profile) -> Flags:
        if profile.accident_starts == "at_once":
            assert accidents is not None
            return seconds_with(accidents, self.seconds)
        return effect_of_minutes(found, self.minutes, profile)

    def _once(self, key: tuple[Any, ...], work_out: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = work_out()
        return self._known[key]


def chained_by(profile: Profile) -> tuple[Any, ...]:
    """What the chains of a profile depend on."""
    return profile.chain_gap, profile.entrance_gap, profile.exit_hides_vehicle


def _accidents_by(profile: Profile) -> tuple[Any, ...]:
    return profile.accident_lanes, profile.accident_cars, profile.accident_starts


def _entering(found: Chains) -> tuple[Ints, Ints]:
    """Rules 7 and 16: the reports that are answered by a notice, and when its toll is charged."""
    rows = found.reports
    enters = np.flatnonzero(found.enters)
    charged = np.full(len(enters), NEVER, np.int64)
    # The segment is left by the next report that enters one, if that is of the same trip.
    follows = found.follows[enters[1:]]
    charged[:-1][follows] = rows.time[enters[1:]][follows]
    noticed = rows.lane[enters] != EXIT_LANE
    return enters[noticed], charged[noticed]


def _caused(road: Road, entering: tuple[Ints, Ints], parts: Parts, profile: Profile) -> Traffic:
    found, lav, cars, accidents, effect = parts.chains, parts.lav, parts.cars, parts.accidents, parts.effect
    direction, at_once = road.direction, profile.accident_starts == "at_once"
    tolls = toll_table(lav, cars, profile)
    rows = found.reports
    enters, charged = entering
    time, seg = rows.time[enters], rows.seg[enters]
    minute = time // MINUTE_SECONDS
    moment = time if at_once else minute
    free = in_reach(effect, direction, profile.toll_free_segments)[moment, seg]
    known = lav[minute, seg]
    notices = pl.DataFrame(
        {
            "vid": rows.vid[enters],
            "time": time,
            "seg": seg,
            "lav": np.where(known == UNKNOWN, profile.lav_unknown, known),
            "toll": np.where(free > 0, 0, tolls[minute, seg]),
            "cars": np.where(minute > 0, cars[minute - 1, seg], 0),
            "reach": free,
            "charged": charged,
        }
    )
    place = [pl.lit(road.xway, pl.Int64).alias("xway"), pl.lit(direction, pl.Int64).alias("dir")]
    if profile.alert_when == "entering_segment":
        reach = in_reach(effect, direction, profile.alert_segments)[moment, seg]
        alerted = np.flatnonzero(reach > 0)
        alerts = _alerts(rows.vid[enters][alerted], time[alerted], seg[alerted], reach[alerted], direction, profile)
    else:
        assert accidents is not None
        alerts = _alerts_at_detection(found, accidents, direction, profile)
    credited: Ints = np.array([], np.intp)
    if profile.exit_credit:
        assert accidents is not None
        credited = _credits(found, accidents, seconds_with(accidents, road.seconds), direction, profile)
    credits = rows.take(credited)
    return Traffic(
        notices.with_columns(pl.all().cast(pl.Int64), *place),
        alerts.with_columns(*place),
        pl.DataFrame({"vid": credits.vid, "time": credits.time}).with_columns(pl.all().cast(pl.Int64), *place[:1]),
    )


def _alerts(vid: Ints, time: Ints, seg: Ints, reach: Ints, direction: int, profile: Profile) -> pl.DataFrame:
    """Rule 14: the nearest of the accidents in reach represents all of them; `reach` has those that are accepted."""
    lowest = np.zeros(len(reach), np.int64)
    remaining = reach.copy()
    while (waiting := (remaining > 0) & (remaining & 1 == 0)).any():
        remaining[waiting] >>= 1
        lowest[waiting] += 1
    nearest = np.clip(seg + lowest if direction == EAST else seg - lowest, 0, 99)
    if profile.alert_accepted == "nearest":
        reach = 1 << lowest
    columns = {"vid": vid, "time": time, "seg": seg, "nearest": nearest, "reach": reach}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


def _alerts_at_detection(found: Chains, accidents: Intervals, direction: int, profile: Profile) -> pl.DataFrame:
    """Thesis §3.2.1: whoever is upstream when an accident is detected."""
    rows = found.reports
    order = np.argsort(rows.time, kind="stable")
    time = rows.time[order]
    nobody = np.array([], np.int64)
    pieces = [_alerts(nobody, nobody, nobody, nobody, direction, profile)]
    for since, seg in sorted(
        {(int(s), int(p) // SEGMENT_FEET) for s, p in zip(accidents.since, accidents.pos, strict=True)}
    ):
        first, last = np.searchsorted(time, [since - REPORT_SECONDS + 1, since + 1])
        near = order[first:last]
        # The latest report of each vehicle.
        _, back = np.unique(rows.vid[near][::-1], return_index=True)
        latest = near[::-1][back]
        ahead = (seg - rows.seg[latest]) * (1 if direction == EAST else -1)
        low, high = profile.alert_segments
        told = (ahead >= low) & (ahead <= high) & (rows.lane[latest] != EXIT_LANE)
        vid, at, ahead = rows.vid[latest][told], rows.seg[latest][told], ahead[told]
        pieces.append(_alerts(vid, np.full(len(vid), since), at, 1 << ahead, direction, profile))
    return pl.concat(pieces)


def _credits(found: Chains, accidents: Intervals, effect: Flags, direction: int, profile: Profile) -> Ints:
    """Thesis §3.2.1: the reports by which a vehicle leaves the expressway in advance of an accident, one a trip."""
    rows = found.reports
    exits = np.flatnonzero(rows.lane == EXIT_LANE)
    # The first exit of each trip.
    exits = exits[np.unique(np.cumsum(~found.follows)[exits], return_index=True)[1]]
    reach = in_reach(effect, direction, profile.toll_free_segments)[rows.time[exits], rows.seg[exits]]
    ahead = reach >> 1 > 0
    for place in np.flatnonzero((reach & 1 > 0) & ~ahead):
        report = exits[place]
        active = (accidents.since <= rows.time[report]) & (rows.time[report] < accidents.until)
        here = active & (accidents.pos // SEGMENT_FEET == rows.seg[report])
        further = (
            accidents.pos[here] > rows.pos[report] if direction == EAST else accidents.pos[here] < rows.pos[report]
        )
        ahead[place] = bool(further.any())
    return exits[ahead]
