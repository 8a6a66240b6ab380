"""Tolls, toll notifications, accident alerts and assessments (VLDB 2004, §3.2.1–3.2.3, tables 3–5).

A minute's tariff, the toll and velocity of every cell and the accident ahead of it, depends on earlier minutes only. So a report
needs one look at its cell when it enters a segment, and the quote of its predecessor when it leaves one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba.types import int32, int64, int8

from arterial.linearroad.city import (
    ACCIDENT_SEGMENTS,
    BASE_TOLL,
    EXIT_LANE,
    REPORT_SECONDS,
    SEGMENTS,
    TOLL_CARS_ABOVE,
    TOLL_LAV_BELOW,
)
from arterial.linearroad.kernels.accidents import Accidents
from arterial.linearroad.kernels.compiled import Array, kernel, reads, writes
from arterial.linearroad.kernels.statistics import NO_LAV, Levels
from arterial.linearroad.kernels.trips import Followed
from arterial.network.state import State

NO_ACCIDENT = -1


@dataclass(frozen=True)
class Notices:
    """Toll notifications."""

    vid: Array
    time: Array
    lav: Array
    toll: Array


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
    """Tolls above 0 that were charged for a segment left behind."""

    vid: Array
    time: Array
    toll: Array


@dataclass(frozen=True)
class Tariff:
    """What holds in every cell throughout a minute."""

    minute: int
    lav: Array
    toll: Array
    accident: Array  # the segment of the nearest accident ahead, or NO_ACCIDENT


def toll(
    state: State, followed: Followed, levels: Levels | None, accidents: Accidents
) -> tuple[Notices, Alerts, Charges]:
    """Notify, alert and charge for these reports.

    State: the tariff of the minute, the accidents that will have effect, and in a ring of 30 seconds the quotes, in the
    order of their reports.
    """
    tariff = _tariff(state, followed, levels)
    _remember(state, followed.minute, accidents)
    reports = followed.reports
    quote = np.empty(len(reports), np.int32)
    entered, charged, charges = [], [], []
    for second, start, stop in reports.seconds():
        key = f"{second % REPORT_SECONDS:02}"
        chunk = state.get("quotes", key)
        fresh = chunk is None or int(chunk["time"][0]) != second - REPORT_SECONDS
        old = NO_QUOTES if fresh or chunk is None else np.asarray(chunk["quote"])
        rows = slice(start, stop)
        entering, leaving, amounts = quote_and_charge(
            followed.cell[rows], reports.lane[rows], followed.pred[rows], followed.prev_seg[rows],
            tariff.toll, old, quote[rows],
        )  # fmt: skip
        entered.append(entering + np.int32(start))
        charged.append(leaving + np.int32(start))
        charges.append(amounts)
        state.put("quotes", key, {"time": np.array([second], np.int32), "quote": quote[rows].copy()})

    at = np.concatenate(entered)
    cell = followed.cell[at]
    ahead = tariff.accident[cell]
    alerted = at[ahead != NO_ACCIDENT]
    left = np.concatenate(charged)
    return (
        Notices(reports.vid[at], reports.time[at], tariff.lav[cell], quote[at]),
        Alerts(
            reports.time[alerted],
            reports.vid[alerted],
            reports.xway[alerted],
            ahead[ahead != NO_ACCIDENT],
            reports.dir[alerted],
        ),
        Charges(reports.vid[left], reports.time[left], np.concatenate(charges)),
    )


def _tariff(state: State, followed: Followed, levels: Levels | None) -> Tariff:
    """The tariff of the minute: made from the levels when they come, read otherwise, grown by new expressways."""
    if levels is not None:
        chunk = state.get("accidents")
        cells = np.asarray(chunk["cell"])[np.asarray(chunk["minute"]) == levels.minute - 1] if chunk else NO_QUOTES
        accident = accident_ahead(cells, levels.lav.size)
        amount = tolls_of(levels.lav, levels.cars, accident)
        tariff = Tariff(levels.minute, levels.lav, amount, accident)
        _keep(state, tariff)
        return tariff
    chunk = state.get("tariff")
    assert chunk is not None, "the first train of a minute brings its levels"
    tariff = Tariff(followed.minute, *(np.asarray(chunk[name]) for name in ("lav", "toll", "accident")))
    missing = followed.cells - tariff.lav.size
    if missing <= 0:
        return tariff
    grown = Tariff(
        tariff.minute,
        np.concatenate([tariff.lav, np.full(missing, NO_LAV, np.int16)]),
        np.concatenate([tariff.toll, np.zeros(missing, np.int32)]),
        np.concatenate([tariff.accident, np.full(missing, NO_ACCIDENT, np.int8)]),
    )
    _keep(state, grown)
    return grown


def _keep(state: State, tariff: Tariff) -> None:
    state.put("tariff", "", {"lav": tariff.lav, "toll": tariff.toll, "accident": tariff.accident})


def _remember(state: State, minute: int, accidents: Accidents) -> None:
    """Keep the accidents until the minute in which they have effect."""
    if accidents.minute.size == 0:
        return
    chunk = state.get("accidents")
    minutes, cells = accidents.minute, accidents.cell
    if chunk is not None:
        minutes = np.concatenate([np.asarray(chunk["minute"]), minutes])
        cells = np.concatenate([np.asarray(chunk["cell"]), cells])
    pairs = np.unique(np.stack([minutes, cells])[:, minutes >= minute], axis=1)
    state.put("accidents", "", {"minute": pairs[0].copy(), "cell": pairs[1].copy()})


def tolls_of(lav: Array, cars: Array, accident: Array) -> Array:
    """The toll of each cell: 2 (cars - 50)² where traffic is slow and dense and no accident is ahead."""
    due = (lav < TOLL_LAV_BELOW) & (cars > TOLL_CARS_ABOVE) & (accident == NO_ACCIDENT)
    return np.where(due, BASE_TOLL * (cars - TOLL_CARS_ABOVE) ** 2, 0).astype(np.int32)


NO_QUOTES = np.empty(0, np.int32)


@kernel(reads(int32), int64, gives=writes(int8))
def accident_ahead(cells: Array, size: int) -> Array:
    """For every cell the segment of the nearest accident 0 to 4 segments downstream, or NO_ACCIDENT."""
    nearest = np.full(size, NO_ACCIDENT, np.int8)
    for row in range(cells.size):
        seg = cells[row] % SEGMENTS
        road = cells[row] // SEGMENTS
        upstream = -1 if road % 2 == 0 else 1
        for distance in range(ACCIDENT_SEGMENTS):
            behind = seg + upstream * distance
            if 0 <= behind < SEGMENTS:
                at = road * SEGMENTS + behind
                if nearest[at] == NO_ACCIDENT or abs(nearest[at] - behind) > distance:
                    nearest[at] = seg
    return nearest


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
