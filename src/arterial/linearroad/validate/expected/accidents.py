"""Accidents of one expressway and direction (§3.2.2, table 3; rules 9–13): which seconds and minutes have one, where.

An interval is half open: [since, until).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.linearroad.semantics.city import (
    EAST,
    EXPRESSWAY_FEET,
    MINUTE_SECONDS,
    REPORT_SECONDS,
    SEGMENT_FEET,
    SEGMENTS,
    STOPPED_REPORTS,
)
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.chains import Chains, Flags, Ints, Reports


@dataclass(frozen=True)
class Intervals:
    """When there was an accident at which place, and how many cars were in it at most."""

    since: Ints
    until: Ints
    lane: Ints
    pos: Ints
    cars: Ints

    def __len__(self) -> int:
        return len(self.since)


@dataclass(frozen=True)
class FirstTwo:
    """An accident of `walmart`: its segment, when the second of its two cars stopped, and when one of them moved."""

    seg: int
    time: int
    cars: tuple[int, int]
    cleared: int | None


def stopped(chains: Chains) -> Flags:
    """Rule 9: the fourth consecutive report from one place, and every further one."""
    stays = chains.stays
    result = stays.copy()
    for back in range(1, STOPPED_REPORTS - 1):
        result[back:] &= stays[:-back]
        result[:back] = False
    return result


def all_accidents(chains: Chains, profile: Profile) -> Intervals:
    """Rules 10–12 of `spec`: when at least two vehicles were stopped at one lane and position."""
    chosen = stopped(chains) & np.isin(chains.reports.lane, profile.accident_lanes)
    at = chains.reports.take(chosen)
    spot = at.lane.astype(np.int64) * EXPRESSWAY_FEET + at.pos
    order = np.lexsort((at.time, at.vid, spot))
    spot, vid, time = spot[order], at.vid[order], at.time[order]
    # Each report stops its vehicle for 30 s; what touches is one stop.
    begins = np.ones(len(time), bool)
    begins[1:] = (spot[1:] != spot[:-1]) | (vid[1:] != vid[:-1]) | (time[1:] > time[:-1] + REPORT_SECONDS)
    ends = np.append(begins[1:], True) if len(time) else begins
    # A sweep over the ends and beginnings of stops, ends first.
    place = np.concatenate([spot[ends], spot[begins]])
    moment = np.concatenate([time[ends] + REPORT_SECONDS, time[begins]])
    change = np.repeat(np.array([-1, 1]), [int(ends.sum()), int(begins.sum())])
    sweep = np.lexsort((change, moment, place))
    place, moment, cars = place[sweep], moment[sweep], np.cumsum(change[sweep])
    two = np.flatnonzero((cars[:-1] >= 2) & (moment[1:] > moment[:-1]))
    return _joined(place[two], moment[two], moment[two + 1], cars[two])


def minutes_with(accidents: Intervals, minutes: int) -> Flags:
    """Acc_in_Seg: a minute counts if one of its seconds does."""
    return _marked(
        accidents.since // MINUTE_SECONDS,
        (accidents.until - 1) // MINUTE_SECONDS,
        accidents.pos // SEGMENT_FEET,
        minutes,
    )


def seconds_with(accidents: Intervals, seconds: int) -> Flags:
    """The same, second by second."""
    return _marked(accidents.since, accidents.until - 1, accidents.pos // SEGMENT_FEET, seconds)


def effect_of_minutes(chains: Chains, minutes: int, profile: Profile) -> Flags:
    """Rule 11: the minutes and segments in which an accident has effect."""
    if profile.accident_cars == "first_two":
        effect = np.zeros((minutes, SEGMENTS), bool)
        for one in first_two_cars(chains):
            last = minutes if one.cleared is None else one.cleared // MINUTE_SECONDS
            effect[one.time // MINUTE_SECONDS + 1 : last + 1, one.seg] = True
        return effect
    effect = np.zeros((minutes, SEGMENTS), bool)
    effect[1:] = minutes_with(all_accidents(chains, profile), minutes)[:-1]
    return effect


def in_reach(effect: Flags, direction: int, reach: tuple[int, int]) -> Ints:
    """Rule 13: for every row and segment a number whose bit i means an accident i segments downstream.

    Dn(s, d, i) is clamped to the last segment; a smaller i has looked there already, so nothing lies beyond.
    """
    bits = np.zeros(effect.shape, np.int64)
    for i in range(reach[0], reach[1] + 1):
        if direction == EAST:
            bits[:, : SEGMENTS - i] |= effect[:, i:].astype(np.int64) << i
        else:
            bits[:, i:] |= effect[:, : SEGMENTS - i].astype(np.int64) << i
    return bits


def first_two_cars(chains: Chains) -> list[FirstTwo]:
    """Rules 10–12 of `walmart`, event by event: there are few stops."""
    reports, stays = chains.reports, chains.stays
    is_stopped = stopped(chains)
    fourth = is_stopped.copy()
    fourth[STOPPED_REPORTS - 1 :] &= ~stays[: -STOPPED_REPORTS + 1]
    moves = chains.follows & ~stays
    leaves = moves & _left_a_stop(reports, fourth)
    # (time, leaving before stopping, line, report of the place)
    happenings = sorted(
        [(reports.time[i], 0, reports.line[i], i - 1) for i in np.flatnonzero(leaves)]
        + [(reports.time[i], 1, reports.line[i], i) for i in np.flatnonzero(fourth)]
    )
    waiting: dict[tuple[int, int], list[int]] = {}
    began: dict[int, tuple[int, int, int]] = {}
    for time, stops, _, i in happenings:
        cars = waiting.setdefault((int(reports.lane[i]), int(reports.pos[i])), [])
        vid, seg = int(reports.vid[i]), int(reports.seg[i])
        if not stops:
            if vid in cars:
                cars.remove(vid)
        elif len(cars) < 2 and vid not in cars:
            cars.append(vid)
            if len(cars) == 2 and seg not in began:
                began[seg] = (int(time), cars[0], cars[1])
    found = []
    if began:
        cars_of_all = np.array([car for _, *cars in began.values() for car in cars])
        moved = np.flatnonzero(moves & np.isin(reports.vid, cars_of_all))
        for seg, (time, one, other) in began.items():
            # In the second of the accident itself the moves came first.
            ending = [
                int(reports.time[i])
                for i in moved
                if reports.seg[i - 1] == seg and reports.vid[i] in (one, other) and reports.time[i] > time
            ]
            found.append(FirstTwo(seg, time, (one, other), min(ending) if ending else None))
    return found


def _left_a_stop(reports: Reports, fourth: Flags) -> Flags:
    """Whether the report before came from a place at which its vehicle was stopped at some time."""
    places = pl.DataFrame({"vid": reports.vid, "spot": reports.lane.astype(np.int64) * EXPRESSWAY_FEET + reports.pos})
    known = places.filter(pl.Series(fourth)).unique().with_columns(known=pl.lit(True))
    there = (
        places.join(known, on=["vid", "spot"], how="left", maintain_order="left")["known"].fill_null(False).to_numpy()
    )
    left = np.zeros(len(reports), bool)
    left[1:] = there[:-1]
    return left


def _joined(spot: Ints, since: Ints, until: Ints, cars: Ints) -> Intervals:
    """Intervals at one spot that touch are one accident."""
    starts = np.ones(len(spot), bool)
    starts[1:] = (spot[1:] != spot[:-1]) | (since[1:] > until[:-1])
    ends = np.append(starts[1:], True) if len(spot) else starts
    most = np.maximum.reduceat(cars, np.flatnonzero(starts)) if len(spot) else cars
    lane, pos = np.divmod(spot[starts], EXPRESSWAY_FEET)
    return Intervals(since[starts], until[ends], lane, pos, most)


def _marked(first: Ints, last: Ints, seg: Ints, rows: int) -> Flags:
    change = np.zeros((rows + 1, SEGMENTS), np.int64)
    inside = first < rows
    np.add.at(change, (first[inside], seg[inside]), 1)
    np.add.at(change, (np.minimum(last[inside] + 1, rows), seg[inside]), -1)
    return np.cumsum(change, axis=0)[:rows] > 0
