"""What the validator's parts say of a segment: its five minutes, and the accidents that have effect in it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from arterial.linearroad.semantics.city import (
    EAST,
    LAV_MINUTES,
    MINUTE_SECONDS,
    REPORT_SECONDS,
    SEGMENT_FEET,
    SEGMENTS,
    minute_of,
)
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.accidents import all_accidents, first_two_cars, stopped
from arterial.linearroad.validate.expected.segments import exact_means
from arterial.linearroad.validate.expected.traffic import Parts
from arterial.linearroad.why.concerned import Way
from arterial.linearroad.why.words import mile, several

Row = dict[str, Any]


def cells_of_five_minutes(parts: Parts, time: int, seg: int) -> list[Row]:
    """Of a segment and each of the five minutes before a second: vehicles, reports, the sum of speeds, the mean."""
    row = time // MINUTE_SECONDS
    wanted = np.zeros_like(parts.lav, bool)
    wanted[row, seg] = True
    means = exact_means(parts.cells, wanted)
    found = []
    for minute in range(max(0, row - LAV_MINUTES), row):
        here = parts.cells.cell == minute * SEGMENTS + seg
        vehicles, reports = parts.cells.vehicles[here], parts.cells.reports[here]
        found.append(
            {
                "minute": minute + 1,
                "vehicles": int(vehicles.sum()),
                "reports": int((vehicles * reports).sum()),
                "speeds": int(parts.cells.speeds[here].sum()),
                "mean": means.get(minute * SEGMENTS + seg),
            }
        )
    return found or [{"minute": 0, "vehicles": 0, "reports": 0, "speeds": 0, "mean": None}]


def mean_of(row: Row, profile: Profile) -> Fraction:
    """Rule 1: the mean of a minute that has reports."""
    if profile.lav_mean == "of_minute_means":
        mean: Fraction = row["mean"]
        return mean
    return Fraction(row["speeds"], row["reports"])


def accidents_ahead(way: Way, time: int, seg: int, reach: int, profile: Profile) -> list[Row]:
    """The accidents behind the bits of a reach: bit i is one that has effect i segments downstream."""
    found: list[Row] = []
    for i in (i for i in range(8) if reach >> i & 1):
        there = min(seg + i, SEGMENTS - 1) if way.direction == EAST else max(seg - i, 0)
        if profile.accident_cars == "first_two":
            found += [one for one in _first_two(way) if one["seg"] == there]
        else:
            found += _all_stopped(way, time, there, profile)
    return found


def _all_stopped(way: Way, time: int, seg: int, profile: Profile) -> list[Row]:
    chains = way.parts.chains
    accidents = all_accidents(chains, profile)
    still = chains.reports.take(stopped(chains))
    found = []
    for since, until, lane, pos in zip(
        *(column.tolist() for column in (accidents.since, accidents.until, accidents.lane, accidents.pos)), strict=True
    ):
        if pos // SEGMENT_FEET != seg or not _has_effect(since, until, time, profile):
            continue
        there = (still.lane == lane) & (still.pos == pos) & (still.time < until) & (still.time + REPORT_SECONDS > since)
        cars = sorted(set(still.vid[there].tolist()))
        if profile.accident_starts == "at_once":
            effect = "at once"
        else:
            effect = f"{minute_of(since) + 1} to {minute_of(until - 1) + 1}"
        found.append(_row(seg, lane, pos, cars, since, until, effect))
    return found


def _has_effect(since: int, until: int, time: int, profile: Profile) -> bool:
    """Rule 11."""
    if profile.accident_starts == "at_once":
        return bool(since <= time < until)
    before = time // MINUTE_SECONDS - 1
    return bool(since // MINUTE_SECONDS <= before <= (until - 1) // MINUTE_SECONDS)


def _first_two(way: Way) -> list[Row]:
    chains = way.parts.chains
    rows = []
    for one in first_two_cars(chains):
        at = np.flatnonzero((chains.reports.vid == one.cars[1]) & (chains.reports.time == one.time))[0]
        lane, pos = int(chains.reports.lane[at]), int(chains.reports.pos[at])
        last = "the end" if one.cleared is None else str(minute_of(one.cleared))
        effect = f"{minute_of(one.time) + 1} to {last}"
        rows.append(_row(one.seg, lane, pos, list(one.cars), one.time, one.cleared, effect))
    return rows


def _row(seg: int, lane: int, pos: int, cars: list[int], since: int, until: int | None, effect: str) -> Row:
    ended = "and stayed" if until is None else f"until second {until:,}"
    words = (
        f"vehicles {several(cars)} stood in lane {lane} at {mile(pos)}, segment {seg}, from second {since:,} {ended}; "
        f"effect in minutes {effect}"
    )
    return {
        "seg": seg,
        "lane": lane,
        "at": mile(pos),
        "cars": several(cars),
        "since": since,
        "until": "–" if until is None else until,
        "effect": effect,
        "words": words,
    }
