"""Why a journey was estimated to take so long and cost so much: segment by segment, from ten weeks of history."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import polars as pl

from arterial.errors import DataError
from arterial.linearroad.semantics.city import EAST, MINUTE_SECONDS, MINUTES_A_DAY, WEST
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.history import history_files, means_by_xway
from arterial.linearroad.validate.expected.journeys import (
    NO_HISTORY,
    SECONDS_A_MILE_AT_1_MPH,
    WEEKDAYS,
    Means,
    cell_of,
    journeys,
)
from arterial.linearroad.why.words import Answer, Figures, Reason

Row = dict[str, Any]
WEEKDAY_HEADS = ("segment", "weekday", "minute", "mean LAV", "mean cars", "seconds", "toll", "seconds so far")


def travel_answer(request: Row, profile: Profile, segments: Path | None) -> Answer:
    """Rule 19: how a travel time and its toll add up."""
    sinit, send, xway = request["sinit"], request["send"], request["xway"]
    way = f"from segment {sinit} to {send} of expressway {xway}"
    start = f"on weekday {request['dow']}, starting at minute {request['tod']}"
    values = {"time": request["time"], "qid": request["qid"]}
    if segments is None:
        text = f"{way}, {start}: SegmentHistory has the speeds; give it with --segments to see how they add up"
        return Answer("travel time", f"request {request['qid']}", values, (Reason("19", text),))
    means = means_by_xway(history_files(segments, "segments"), {xway}).get(xway)
    total = journeys(pl.DataFrame([request]), means, profile).row(0, named=True)
    values |= {"travel_time": total["travel_time"], "toll": total["toll"]}
    rows, lost = _walk(request, means, profile)
    reasons = [Reason("19", f"{way}, {start}: a mile a segment at the mean LAV of its weekday and minute in ten weeks")]
    if not profile.travel_includes_end:
        reasons.append(Reason("19", f"segment {send}, in which the journey ends, does not count"))
    if lost is not None:
        reasons.append(Reason("19", f"{lost}, so the journey is not known: travel time -1, toll -1"))
        says = f"not known (request {request['qid']})"
    else:
        _same(rows, total)
        reasons.append(
            Reason("19", f"{total['travel_time']:,} seconds and a toll of {total['toll']:,}, rounded half up")
        )
        tolled = sum(row[6] > 0 for row in rows)
        reasons.append(Reason("6", f"a toll is due in {tolled} of {len(rows)} segments, by the means at the arrival"))
        says = f"{total['travel_time']:,} s, toll {total['toll']:,} (request {request['qid']})"
    table = Figures("Segment by segment", WEEKDAY_HEADS, tuple(tuple(map(_shown, row)) for row in rows))
    return Answer("travel time", says, values, tuple(reasons), (table,) if rows else ())


def _walk(request: Row, means: Means | None, profile: Profile) -> tuple[list[tuple[Any, ...]], str | None]:
    """The segments of a journey with exact figures; and why it could not go on, if it could not."""
    sinit, send = request["sinit"], request["send"]
    step = 1 if send >= sinit else -1
    passed = Fraction(0)
    rows: list[tuple[Any, ...]] = []
    for number in range(abs(send - sinit) + (1 if profile.travel_includes_end else 0)):
        seg = sinit + step * number
        days, minute = divmod(floor((request["tod"] - 1) + passed / MINUTE_SECONDS), MINUTES_A_DAY)
        if profile.travel_over_midnight == "same_weekday":
            days = 0
        weekday = (request["dow"] - 1 + days) % WEEKDAYS
        if means is None:
            return rows, f"SegmentHistory has no rows of expressway {request['xway']}"
        cell = cell_of(EAST if step > 0 else WEST, seg, weekday, minute)
        if not means.known[cell]:
            return rows, f"segment {seg} has no LAV above 0 on weekday {weekday + 1} in minute {minute + 1}"
        lav = Fraction(int(means.lav[cell]), int(means.known[cell]))
        cars = Fraction(int(means.cars[cell]), int(means.rows[cell]))
        tolled = lav < profile.toll_lav_below and (not profile.toll_needs_more_cars or cars > profile.toll_free_cars)
        toll = profile.base_toll * (cars - profile.toll_free_cars) ** 2 if tolled else Fraction(0)
        seconds = SECONDS_A_MILE_AT_1_MPH / lav
        passed += seconds
        rows.append((seg, weekday + 1, minute + 1, lav, cars, seconds, toll, passed))
    return rows, None


def _same(rows: list[tuple[Any, ...]], total: Row) -> None:
    """The table must add up to what the validator expects: never seen otherwise, and never shown."""
    seconds = floor(sum((row[5] for row in rows), Fraction(0)) + Fraction(1, 2))
    toll = floor(sum((row[6] for row in rows), Fraction(0)) + Fraction(1, 2))
    if abs(seconds - total["travel_time"]) > 1 or abs(toll - total["toll"]) > 1 or total["travel_time"] == NO_HISTORY:
        raise DataError(f"a travel time of {total['travel_time']} was expected, its segments give {seconds}")


def _shown(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value
