"""Travel time and toll of a journey from ten weeks of history (§3.2.3, "Travel Time Estimation"; rule 19).

The history of one expressway becomes four sums for every direction, segment, weekday and minute; all journeys then
walk through them side by side, a segment a step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import polars as pl
import pyarrow as pa

from arterial.linearroad.semantics.city import EAST, HISTORY_DAYS, MINUTE_SECONDS, MINUTES_A_DAY, SEGMENTS, WEST
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.chains import Ints

WEEKDAYS = 7
SECONDS_A_MILE_AT_1_MPH = 3600
NO_HISTORY = -1
# Sums of exact quotients may miss a minute or a half by a rounding error.
_HAIR = 1e-9
Place = TypeVar("Place", int, Ints)


class Means:
    """Ten weeks of one expressway, summed by direction, segment, weekday and minute."""

    def __init__(self) -> None:
        cells = 2 * SEGMENTS * WEEKDAYS * MINUTES_A_DAY
        self.lav, self.known, self.cars, self.rows = (np.zeros(cells, np.int64) for _ in range(4))

    def add(self, history: pa.Table | pa.RecordBatch) -> None:
        """Add rows of SegmentHistory; rows that cannot be are left out."""
        day, minute, direction, seg, lav, cnt = (
            history[name].to_numpy(zero_copy_only=False).astype(np.int64)
            for name in ("day", "minute", "dir", "seg", "lav", "cnt")
        )
        good = (day >= 1) & (day <= HISTORY_DAYS) & (minute >= 1) & (minute <= MINUTES_A_DAY)
        good &= (seg >= 0) & (seg < SEGMENTS) & ((direction == EAST) | (direction == WEST))
        cell = cell_of(direction, seg, (day - 1) % WEEKDAYS, minute - 1)[good]
        moving = (lav > 0)[good]
        np.add.at(self.rows, cell, 1)
        np.add.at(self.cars, cell, cnt[good])
        np.add.at(self.known, cell[moving], 1)
        np.add.at(self.lav, cell[moving], lav[good][moving])


def means_of(history: Iterable[pa.Table | pa.RecordBatch]) -> Means:
    """The sums over all rows."""
    means = Means()
    for rows in history:
        means.add(rows)
    return means


def journeys(requests: pl.DataFrame, means: Means | None, profile: Profile) -> pl.DataFrame:
    """`travel_time` and `toll` of the requests (sinit, send, dow, tod), in their order; no means: nothing is known."""
    sinit, send, dow, tod = (requests[name].to_numpy().astype(np.int64) for name in ("sinit", "send", "dow", "tod"))
    time, toll = np.zeros(len(sinit)), np.zeros(len(sinit))
    lost = np.zeros(len(sinit), bool)
    step = np.where(send >= sinit, 1, -1)
    length = np.abs(send - sinit) + (1 if profile.travel_includes_end else 0)
    for passed in range(int(length.max(initial=0))):
        going = np.flatnonzero((length > passed) & ~lost)
        if means is None:
            lost[going] = True
            break
        clock = np.floor(((tod[going] - 1) * MINUTE_SECONDS + time[going]) / MINUTE_SECONDS + _HAIR).astype(np.int64)
        days, minute = np.divmod(clock, MINUTES_A_DAY)
        if profile.travel_over_midnight == "same_weekday":
            days = np.zeros_like(days)
        direction = np.where(step[going] > 0, EAST, WEST)
        cell = cell_of(direction, sinit[going] + step[going] * passed, (dow[going] - 1 + days) % WEEKDAYS, minute)
        known = means.known[cell]
        lost[going[known == 0]] = True
        going, cell = going[known > 0], cell[known > 0]
        lav = means.lav[cell] / means.known[cell]
        cars = means.cars[cell] / means.rows[cell]
        tolled = means.lav[cell] < profile.toll_lav_below * means.known[cell]
        if profile.toll_needs_more_cars:
            tolled &= means.cars[cell] > profile.toll_free_cars * means.rows[cell]
        toll[going] += np.where(tolled, profile.base_toll * (cars - profile.toll_free_cars) ** 2, 0)
        time[going] += SECONDS_A_MILE_AT_1_MPH / lav
    return pl.DataFrame(
        {name: np.where(lost, NO_HISTORY, _half_up(values)) for name, values in (("travel_time", time), ("toll", toll))}
    )


def cell_of(direction: Place, seg: Place, weekday: Place, minute: Place) -> Place:
    """The place of a direction, segment, weekday and minute in the sums; weekdays and minutes count from 0."""
    return ((direction * SEGMENTS + seg) * WEEKDAYS + weekday) * MINUTES_A_DAY + minute


def _half_up(values: np.ndarray) -> Ints:
    return np.floor(values + 0.5 + _HAIR).astype(np.int64)
