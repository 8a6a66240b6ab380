"""Tolls, toll notifications, accident alerts and assessments (VLDB 2004, §3.2.1–3.2.3, tables 3–5).

A minute's tariff, the toll and velocity of every cell and the accident ahead of it, depends on earlier minutes only. So
a report needs one look at its cell when it enters a segment, and the quote of its predecessor when it leaves one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.accidents import Accidents
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import (
    boolean,
    int8,
    int32,
    int64,
    kernel,
    reads,
    several,
    writes,
)
from arterial.linearroad.application.kernels.base.reports import Reports
from arterial.linearroad.application.kernels.statistics import NO_LAV, Levels
from arterial.linearroad.application.kernels.trips import Followed
from arterial.linearroad.semantics.city import EXIT_LANE, REPORT_SECONDS, SEGMENTS
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.state import State

NO_ACCIDENT = -1


@dataclass(frozen=True)
class Notices:
    """Toll notifications."""

    vid: Array
    time: Array
    lav: Array
    toll: Array
    xway: Array
    dir: Array


@dataclass(frozen=True)
class Alerts:
    """Accident alerts; `seg` is that of the nearest accident."""

    time: Array
    vid: Array
    xway: Array
    seg: Array
    dir: Array


@dataclass(frozen=True)
class Charges:
    """Tolls above 0 that are charged for a segment left behind."""

    vid: Array
    time: Array
    toll: Array
    xway: Array
    dir: Array


@dataclass(frozen=True)
class Tariff:
    """What holds in every cell throughout a minute."""

    lav: Array
    toll: Array
    accident: Array  # the segment of the nearest accident ahead, or NO_ACCIDENT

    @classmethod
    def of(cls, levels: Levels, accident: Array, profile: Profile) -> Tariff:
        """Rule 6: 2 (cars - 50)² where traffic is slow and dense and no accident is ahead."""
        cars = levels.cars.astype(np.int64)
        due = (levels.lav != NO_LAV) & (levels.lav < profile.toll_lav_below) & (accident == NO_ACCIDENT)
        if profile.toll_needs_more_cars:
            due &= cars > profile.toll_free_cars
        amount = np.where(due, profile.base_toll * (cars - profile.toll_free_cars) ** 2, 0).astype(np.int32)
        lav = np.where(levels.lav == NO_LAV, np.int16(profile.lav_unknown), levels.lav)
        return cls(lav, amount, accident)

    @classmethod
    def read(cls, state: State, cells: int, profile: Profile) -> Tariff:
        """The tariff that the first train of the minute left, with the cells of expressways that are new since then."""
        chunk = chunks.read(state, "tariff")
        assert chunk is not None, "the first train of a minute brings its levels"
        tariff = cls(**chunk)
        new = cells - tariff.lav.size
        if new <= 0:
            return tariff
        return cls(
            np.concatenate([tariff.lav, np.full(new, profile.lav_unknown, np.int16)]),
            np.concatenate([tariff.toll, np.zeros(new, np.int32)]),
            np.concatenate([tariff.accident, np.full(new, NO_ACCIDENT, np.int8)]),
        )

    def write(self, state: State) -> None:
        """Keep it for the rest of the minute."""
        state.put("tariff", "", {"lav": self.lav, "toll": self.toll, "accident": self.accident})


def toll(
    state: State, followed: Followed, levels: Levels | None, accidents: Accidents, profile: Profile
) -> tuple[Notices, Alerts, Charges]:
    """Notify, alert and charge for these reports.

    State: the tariff of the minute, the accidents that will have effect, and in a ring of 30 seconds the quotes, in the
    order of their reports.
    """
    if levels is None:
        tariff = Tariff.read(state, followed.cells, profile)
    else:
        ahead = accident_ahead(_accidents_of(state, levels.minute - 1), levels.lav.size, *profile.alert_segments)
        tariff = Tariff.of(levels, ahead, profile)
        tariff.write(state)
    _remember(state, followed.minute, accidents)

    reports = followed.reports
    quote = np.empty(len(reports), np.int32)
    entered, left, amounts = [], [], []
    for second, start, stop in reports.seconds():
        key = chunks.slot(second, REPORT_SECONDS)
        old = chunks.read_of(state, "quotes", key, second - REPORT_SECONDS) or NO_QUOTES
        rows = slice(start, stop)
        assert rows_are_there(followed.pred[rows], followed.prev_seg[rows], old["quote"].size), (
            f"second {second}: a report's predecessor is not among the {old['quote'].size} quotes of second "
            f"{second - REPORT_SECONDS}; reports were added, dropped or moved between trips and tolls"
        )
        entering, leaving, amount = quote_and_charge(
            followed.cell[rows],
            reports.lane[rows],
            followed.pred[rows],
            followed.prev_seg[rows],
            tariff.toll,
            old["quote"],
            quote[rows],
        )
        entered.append(entering + np.int32(start))
        left.append(leaving + np.int32(start))
        amounts.append(amount)
        chunks.write(state, "quotes", key, second, {"quote": quote[rows].copy()})
    notices, alerts = notify(reports, followed.cell, np.concatenate(entered), tariff)
    at = np.concatenate(left)
    return notices, alerts, charge(reports, at, np.concatenate(amounts))


def notify(reports: Reports, cell: Array, entering: Array, tariff: Tariff) -> tuple[Notices, Alerts]:
    """The notices and alerts to the reports in these rows."""
    cell = cell[entering]
    notices = Notices(
        reports.vid[entering],
        reports.time[entering],
        tariff.lav[cell],
        tariff.toll[cell],
        reports.xway[entering],
        reports.dir[entering],
    )
    ahead = tariff.accident[cell]
    warned = ahead != NO_ACCIDENT
    at = entering[warned]
    return notices, Alerts(reports.time[at], reports.vid[at], reports.xway[at], ahead[warned], reports.dir[at])


def charge(reports: Reports, leaving: Array, amount: Array) -> Charges:
    """The charges to the reports in these rows."""
    return Charges(reports.vid[leaving], reports.time[leaving], amount, reports.xway[leaving], reports.dir[leaving])


def _accidents_of(state: State, minute: int) -> Array:
    """The cells that have an accident in a minute."""
    chunk = chunks.read(state, "accidents")
    return NO_QUOTES["quote"] if chunk is None else chunk["cell"][chunk["minute"] == minute]


def _remember(state: State, minute: int, accidents: Accidents) -> None:
    """Keep the accidents until the minute in which they have effect."""
    if accidents.minute.size == 0:
        return
    pairs = np.stack([accidents.minute, accidents.cell])
    if (chunk := chunks.read(state, "accidents")) is not None:
        pairs = np.concatenate([np.stack([chunk["minute"], chunk["cell"]]), pairs], axis=1)
    pairs = np.unique(pairs[:, pairs[0] >= minute], axis=1)
    state.put("accidents", "", {"minute": pairs[0].copy(), "cell": pairs[1].copy()})


NO_QUOTES = {"quote": np.empty(0, np.int32)}


@kernel(reads(int32), int64, int64, int64, gives=writes(int8))
def accident_ahead(cells: Array, size: int, nearest_reach: int, farthest_reach: int) -> Array:
    """For every cell the segment of the nearest accident so many segments downstream, or NO_ACCIDENT."""
    nearest = np.full(size, NO_ACCIDENT, np.int8)
    for row in range(cells.size):
        seg = cells[row] % SEGMENTS
        road = cells[row] // SEGMENTS
        upstream = -1 if road % 2 == 0 else 1
        for distance in range(nearest_reach, farthest_reach + 1):
            behind = seg + upstream * distance
            if 0 <= behind < SEGMENTS:
                at = road * SEGMENTS + behind
                if nearest[at] == NO_ACCIDENT or abs(nearest[at] - behind) > distance:
                    nearest[at] = seg
    return nearest


@kernel(reads(int32), reads(int8), int64, gives=boolean)
def rows_are_there(pred: Array, prev_seg: Array, rows: int) -> bool:
    """Whether all predecessors are among so many rows: `quote_and_charge` reads there without looking."""
    there = True
    for row in range(pred.size):
        there &= (prev_seg[row] < 0) | ((pred[row] >= 0) & (pred[row] < rows))
    return there


@kernel(
    reads(int32),
    reads(int8),
    reads(int32),
    reads(int8),
    reads(int32),
    reads(int32),
    writes(int32),
    gives=several(writes(int32), writes(int32), writes(int32)),
)
def quote_and_charge(
    cell: Array, lane: Array, pred: Array, prev_seg: Array, toll_of: Array, old_quote: Array, quote: Array
) -> tuple[Array, Array, Array]:
    """Quote the reports of one second: the rows that are notified, the rows that are charged, and how much."""
    entering = np.empty(cell.size, np.int32)
    leaving = np.empty(cell.size, np.int32)
    amount = np.empty(cell.size, np.int32)
    n_entering = 0
    n_leaving = 0
    for row in range(cell.size):
        if prev_seg[row] == cell[row] % SEGMENTS:
            quote[row] = old_quote[pred[row]]
            continue
        if prev_seg[row] >= 0:
            due = old_quote[pred[row]]
            if due > 0:
                leaving[n_leaving] = row
                amount[n_leaving] = due
                n_leaving += 1
        if lane[row] == EXIT_LANE:
            quote[row] = 0
            continue
        quote[row] = toll_of[cell[row]]
        entering[n_entering] = row
        n_entering += 1
    return entering[:n_entering].copy(), leaving[:n_leaving].copy(), amount[:n_leaving].copy()
