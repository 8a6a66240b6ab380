"""Trips, statistics and tolls by the rules of profile `walmart`, where a trip goes on after any gap.

A report's predecessor may be of any time before, so every vehicle's last report is kept, in a table by vehicle and
road. After a report in lane 4 a vehicle is hidden until one in lane 0: its reports then make no trip.
"""

from __future__ import annotations

import numpy as np

from arterial.arrays import Array
from arterial.errors import ArterialError
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.compiled import (
    column,
    int8,
    int16,
    int32,
    int64,
    kernel,
    reads,
    several,
    uint8,
    uint32,
    uint64,
    writes,
)
from arterial.linearroad.application.kernels.base.hashing import home
from arterial.linearroad.application.kernels.base.reports import LANE_SHIFT, PLACE_MASK, RUN_SHIFT, Reports, encode
from arterial.linearroad.application.kernels.base.table import Table
from arterial.linearroad.application.kernels.first_two import FirstTwo
from arterial.linearroad.application.kernels.pooled import open_minute
from arterial.linearroad.application.kernels.tolls import (
    Alerts,
    Charges,
    Notices,
    Tariff,
    accident_ahead,
    charge,
    notify,
)
from arterial.linearroad.semantics.city import (
    ENTRANCE_LANE,
    EXIT_LANE,
    MINUTE_SECONDS,
    SEGMENTS,
    STOPPED_REPORTS,
    minute_of,
)
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.state import State

ROAD_BITS = 16
LARGEST_VID = 2 ** (63 - ROAD_BITS) - 1
SIEVE_BITS = 16
COLUMNS: dict[str, type[np.generic]] = {
    "time": np.int32,
    "cell": np.int32,
    "place": np.uint32,
    "run": np.int8,  # 0 if there was no report yet
    "quote": np.int32,
    "minute": np.int32,  # that `low` and `high` are of
    "low": np.uint64,  # a bit for each segment seen in the minute
    "high": np.uint64,
}


def answer_reports(state: State, reports: Reports, profile: Profile) -> tuple[Notices, Alerts, Charges]:
    """Notify, alert and charge for the reports of (a part of) one minute.

    State: the table of last reports, the minute under way and the five before it, the tariff, and the stopped cars.
    """
    minute = minute_of(int(reports.time[0]))
    known = chunks.read(state, "xways")
    cell, place, xways = encode(reports, np.empty(0, np.int32) if known is None else known["xway"])
    if known is None or xways.size != known["xway"].size:
        state.put("xways", "", {"xway": xways})
    cells = 2 * SEGMENTS * xways.size
    sums, levels = open_minute(state, minute, cells, profile)
    stops = FirstTwo.read(state)
    if levels is None:
        tariff = Tariff.read(state, cells, profile)
    else:
        ahead = accident_ahead(stops.in_effect(minute), cells, *profile.alert_segments)
        tariff = Tariff.of(levels, ahead, profile)
        tariff.write(state)

    table = Table.open(state, COLUMNS)
    car_of = table.insert(_keys(reports.vid, cell))
    sieve = np.zeros(1 << (SIEVE_BITS - 3), np.uint8)
    sift(stops.recorded(), sieve)
    entering, leaving, amount, moved, left_place, left_cell, halted = take_reports(
        reports.time,
        reports.vid,
        reports.speed,
        reports.lane,
        cell,
        place,
        car_of,
        -1 if profile.entrance_gap is None else profile.entrance_gap,
        tariff.toll,
        sieve,
        sums.cars,
        sums.reports,
        sums.speeds,
        *table.columns.values(),
    )
    table.save(state, car_of)
    sums.write(state, "minute", "", minute)
    if moved.size or halted.size:
        left = _events(reports, moved, left_cell, left_place)
        stops.take(minute, left, _events(reports, halted, cell[halted], place[halted]))
        stops.write(state)
    notices, alerts = notify(reports, cell, entering, tariff)
    return notices, alerts, charge(reports, leaving, amount)


def _keys(vid: Array, cell: Array) -> Array:
    if vid.size and vid.max() > LARGEST_VID:
        raise ArterialError(
            f"VID {vid.max()} is too large for a profile whose trips may have gaps: expected at most {LARGEST_VID}."
        )
    return column(vid << ROAD_BITS | cell // SEGMENTS, np.int64)


def _events(reports: Reports, rows: Array, cell: Array, place: Array) -> list[tuple[int, int, int, int]]:
    """Time, vehicle, spot and cell of each."""
    spot = (cell.astype(np.int64) // SEGMENTS << RUN_SHIFT) | (place & PLACE_MASK)
    columns = (reports.time[rows], reports.vid[rows], spot, cell)
    return list(zip(*(values.tolist() for values in columns), strict=True))


@kernel(reads(int64), writes(uint8))
def sift(vid: Array, sieve: Array) -> None:
    """Mark vehicles in a sieve."""
    for row in range(vid.size):
        bit = home(vid[row], SIEVE_BITS)
        sieve[bit >> 3] |= np.uint8(1 << (bit & 7))


@kernel(
    reads(int32),
    reads(int64),
    reads(int16),
    reads(int8),
    reads(int32),
    reads(uint32),
    reads(int64),
    int64,
    reads(int32),
    writes(uint8),
    writes(int32),
    writes(int32),
    writes(int32),
    writes(int32),
    writes(int32),
    writes(uint32),
    writes(int8),
    writes(int32),
    writes(int32),
    writes(uint64),
    writes(uint64),
    gives=several(
        writes(int32),
        writes(int32),
        writes(int32),
        writes(int32),
        writes(uint32),
        writes(int32),
        writes(int32),
    ),
)
def take_reports(
    time: Array,
    vid: Array,
    speed: Array,
    lane: Array,
    cell: Array,
    place: Array,
    car_of: Array,
    entrance_gap: int,
    toll_of: Array,
    sieve: Array,
    cars: Array,
    reports: Array,
    speeds: Array,
    last_time: Array,
    last_cell: Array,
    last_place: Array,
    last_run: Array,
    quote: Array,
    minute: Array,
    low: Array,
    high: Array,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """Put reports behind their predecessors and into the statistics, in order.

    Gives the rows that are notified; the rows that are charged, and how much; the rows of vehicles that may be recorded
    as stopped and moved, with the places and cells that they left; and the rows that are the fourth in one place.
    """
    size = time.size
    entering, leaving, amount = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    moved, left_place, left_cell = np.empty(size, np.int32), np.empty(size, np.uint32), np.empty(size, np.int32)
    halted = np.empty(size, np.int32)
    n_entering, n_leaving, n_moved, n_halted = 0, 0, 0, 0
    for row in range(size):
        car = car_of[row]
        at = cell[row]
        seg = at % SEGMENTS
        now = time[row] // MINUTE_SECONDS
        if minute[car] != now + 1:
            minute[car], low[car], high[car] = now + 1, 0, 0
        bit = np.uint64(1) << np.uint64(seg & 63)
        seen = (low[car] if seg < 64 else high[car]) & bit != 0

        has_last = last_run[car] > 0
        last_lane = (last_place[car] >> np.uint32(LANE_SHIFT)) & np.uint32(7)
        hidden = has_last and lane[row] != ENTRANCE_LANE and last_lane == EXIT_LANE
        if not seen and (not hidden or cars[at] == 0):
            cars[at] += 1
            if seg < 64:
                low[car] |= bit
            else:
                high[car] |= bit
        if hidden:
            continue
        reports[at] += 1
        speeds[at] += speed[row]

        gap = time[row] - last_time[car]
        if entrance_gap >= 0 and lane[row] == ENTRANCE_LANE and gap > entrance_gap:
            has_last = False
        run = 1
        if has_last:
            if (last_place[car] ^ place[row]) & np.uint32(PLACE_MASK) == 0:
                run = min(last_run[car] + 1, STOPPED_REPORTS + 1)
            else:
                mark = home(vid[row], SIEVE_BITS)
                if (sieve[mark >> 3] >> np.uint8(mark & 7)) & 1:
                    moved[n_moved], left_place[n_moved], left_cell[n_moved] = (
                        row,
                        last_place[car],
                        last_cell[car],
                    )
                    n_moved += 1
        if run == STOPPED_REPORTS:
            halted[n_halted] = row
            n_halted += 1
            mark = home(vid[row], SIEVE_BITS)
            sieve[mark >> 3] |= np.uint8(1 << (mark & 7))

        if not has_last or last_cell[car] != at:
            if has_last and quote[car] > 0:
                leaving[n_leaving], amount[n_leaving] = row, quote[car]
                n_leaving += 1
            quote[car] = 0
            if lane[row] != EXIT_LANE:
                quote[car] = toll_of[at]
                entering[n_entering] = row
                n_entering += 1
        last_time[car], last_cell[car], last_place[car], last_run[car] = time[row], at, place[row], run
    return (
        entering[:n_entering].copy(),
        leaving[:n_leaving].copy(),
        amount[:n_leaving].copy(),
        moved[:n_moved].copy(),
        left_place[:n_moved].copy(),
        left_cell[:n_moved].copy(),
        halted[:n_halted].copy(),
    )
