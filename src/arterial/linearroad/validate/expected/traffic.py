"""What the reports of one expressway and direction must cause: toll notices, charges, alerts (§3.2.1, §3.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

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
from arterial.linearroad.validate.expected.segments import UNKNOWN, segment_tables, toll_table

NEVER = -1


@dataclass(frozen=True)
class Traffic:
    """Expected of one expressway and direction.

    `notices`: vid, time, xway, dir, seg, lav, toll, cars (of the minute before), reach (bit i: an accident i segments
    on), charged (the second in which the toll is charged, or NEVER).
    `alerts`: vid, time, xway, dir, seg (of the report), nearest (the accident's), reach.
    `credits`: vid, time, xway: leaving before an accident (thesis).
    """

    notices: pl.DataFrame
    alerts: pl.DataFrame
    credits: pl.DataFrame


def traffic(reports: Reports, xway: int, direction: int, profile: Profile) -> Traffic:
    """All that the reports of one expressway and direction cause."""
    found = chains(reports, profile)
    seconds = int(reports.time.max(initial=0)) + 1
    minutes = seconds // MINUTE_SECONDS + 1
    lav, cars = segment_tables(found, minutes, profile)
    tolls = toll_table(lav, cars, profile)
    at_once = profile.accident_starts == "at_once"
    if at_once:
        accidents = all_accidents(found, profile)
        effect = seconds_with(accidents, seconds)
    else:
        accidents = None
        effect = effect_of_minutes(found, minutes, profile)

    rows = found.reports
    enters = np.flatnonzero(found.enters)
    charged = np.full(len(enters), NEVER, np.int64)
    # The segment is left by the next report that enters one, if that is of the same trip.
    follows = found.follows[enters[1:]]
    charged[:-1][follows] = rows.time[enters[1:]][follows]
    noticed = rows.lane[enters] != EXIT_LANE
    enters, charged = enters[noticed], charged[noticed]
    time, seg = rows.time[enters], rows.seg[enters]
    minute = time // MINUTE_SECONDS
    moment = time if at_once else minute
    free = in_reach(effect, direction, profile.toll_free_segments)[moment, seg]
    known = lav[minute, seg]
    entering = pl.DataFrame(
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
    place = [pl.lit(xway, pl.Int64).alias("xway"), pl.lit(direction, pl.Int64).alias("dir")]
    if profile.alert_when == "entering_segment":
        reach = in_reach(effect, direction, profile.alert_segments)[moment, seg]
        alerted = np.flatnonzero(reach > 0)
        alerts = _alerts(rows.vid[enters][alerted], time[alerted], seg[alerted], reach[alerted], direction)
    else:
        assert accidents is not None
        alerts = _alerts_at_detection(found, accidents, direction, profile)
    credited = _credits(found, accidents, effect, direction, profile) if profile.exit_credit and accidents else None
    credits = rows.take(np.array([], np.intp) if credited is None else credited)
    return Traffic(
        entering.with_columns(pl.all().cast(pl.Int64), *place),
        alerts.with_columns(*place),
        pl.DataFrame({"vid": credits.vid, "time": credits.time}).with_columns(pl.all().cast(pl.Int64), *place[:1]),
    )


def _alerts(vid: Ints, time: Ints, seg: Ints, reach: Ints, direction: int) -> pl.DataFrame:
    """Rule 14: the nearest of the accidents in reach represents all of them."""
    lowest = np.zeros(len(reach), np.int64)
    remaining = reach.copy()
    while (waiting := (remaining > 0) & (remaining & 1 == 0)).any():
        remaining[waiting] >>= 1
        lowest[waiting] += 1
    nearest = np.clip(seg + lowest if direction == EAST else seg - lowest, 0, 99)
    columns = {"vid": vid, "time": time, "seg": seg, "nearest": nearest, "reach": reach}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


def _alerts_at_detection(found: Chains, accidents: Intervals, direction: int, profile: Profile) -> pl.DataFrame:
    """Thesis §3.2.1: whoever is upstream when an accident is detected."""
    rows = found.reports
    order = np.argsort(rows.time, kind="stable")
    time = rows.time[order]
    nobody = np.array([], np.int64)
    pieces = [_alerts(nobody, nobody, nobody, nobody, direction)]
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
        pieces.append(_alerts(vid, np.full(len(vid), since), at, 1 << ahead, direction))
    return pl.concat(pieces)


def _credits(found: Chains, accidents: Intervals, effect: Flags, direction: int, profile: Profile) -> Ints:
    """Thesis §3.2.1: the reports by which a vehicle leaves the expressway in advance of an accident."""
    rows = found.reports
    before = np.roll(rows.lane, 1)
    exits = np.flatnonzero(found.follows & (rows.lane == EXIT_LANE) & (before != EXIT_LANE))
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
