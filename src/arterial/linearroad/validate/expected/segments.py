"""The statistics of the segments of one expressway and direction, minute by minute (§3.2.1, table 2; rules 1–6).

A table has a row a minute and a column a segment. Minute M(t) is row t // 60, so row 0 is the first minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import LAV_MINUTES, MINUTE_SECONDS, REPORT_SECONDS, SEGMENTS
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.chains import Chains, Flags, Ints, Reports

UNKNOWN = -1
# Far more than the error of a mean of floats, far less than the distance of two different means.
_CLOSE = 1e-6


def lav_table(cells: Cells, minutes: int, profile: Profile) -> Ints:
    """Rules 1–4: the LAV of every minute and segment, UNKNOWN if there was no report before."""
    if profile.lav_mean == "of_minute_means":
        return _lav_of_means(cells, minutes, profile)
    return _lav_pooled(cells, minutes, profile)


def cars_table(cells: Cells, chains: Chains, minutes: int) -> Ints:
    """Rule 5: the cars of every minute and segment."""
    cars = np.zeros(minutes * SEGMENTS, np.int64)
    np.add.at(cars, cells.cell, cells.vehicles)
    if len(chains.hidden):
        cars += _first_of_their_cell(chains, minutes)
    return cars.reshape(minutes, SEGMENTS)


def toll_table(lav: Ints, cars: Ints, profile: Profile) -> Ints:
    """Rule 6 but for accidents: the toll of every minute and segment."""
    before = np.zeros_like(cars)
    before[1:] = cars[:-1]
    charged = (lav != UNKNOWN) & (lav < profile.toll_lav_below)
    if profile.toll_needs_more_cars:
        charged &= before > profile.toll_free_cars
    return np.where(charged, profile.base_toll * (before - profile.toll_free_cars) ** 2, 0)


@dataclass(frozen=True)
class Cells:
    """All that the means need: how many vehicles of a minute and segment reported how often, and their speeds."""

    cell: Ints
    reports: Ints
    vehicles: Ints
    speeds: Ints


def cells_of(reports: Reports) -> Cells:
    """The cells of all reports."""
    cell = reports.time.astype(np.int64) // MINUTE_SECONDS * SEGMENTS + reports.seg
    same = reports.vid[1:] == reports.vid[:-1]
    # With 30 s between them, the reports of a vehicle from one cell are neighbours; otherwise they must be looked for.
    hasty = np.unique(reports.vid[1:][same & (np.diff(reports.time) < REPORT_SECONDS)])
    regular = ~np.isin(reports.vid, hasty) if len(hasty) else np.ones(len(cell), bool)
    chosen = slice(None) if regular.all() else regular
    neighbours = _grouped(reports.vid[chosen], cell[chosen], reports.speed[chosen])
    others = _searched(reports.vid[~regular], cell[~regular], reports.speed[~regular])
    of_cell, number, speeds = (np.concatenate(pair) for pair in zip(neighbours, others, strict=True))
    # A second's report is unique, so a vehicle reports at most 60 times a minute.
    key = of_cell * (MINUTE_SECONDS + 1) + number
    vehicles = np.bincount(key)
    totals = np.bincount(key, speeds).astype(np.int64)
    keys = np.flatnonzero(vehicles)
    return Cells(keys // (MINUTE_SECONDS + 1), keys % (MINUTE_SECONDS + 1), vehicles[keys], totals[keys])


def _grouped(vid: Ints, cell: Ints, speed: Ints) -> tuple[Ints, Ints, Ints]:
    """Cell, number of reports and sum of speeds of every vehicle and cell, if their reports are neighbours."""
    if len(vid) == 0:
        return cell, cell, cell
    starts = np.flatnonzero(np.append(True, (vid[1:] != vid[:-1]) | (cell[1:] != cell[:-1])))
    return cell[starts], np.diff(np.append(starts, len(vid))), np.add.reduceat(speed.astype(np.int64), starts)


def _searched(vid: Ints, cell: Ints, speed: Ints) -> tuple[Ints, Ints, Ints]:
    """The same, wherever they stand."""
    order = np.lexsort((cell, vid))
    return _grouped(vid[order], cell[order], speed[order])


def _lav_of_means(cells: Cells, minutes: int, profile: Profile) -> Ints:
    """Rules 1–3: the mean of the minutes' means of the vehicles' means, rounded."""
    more = Fraction(0) if profile.lav_rounding == "floor" else Fraction(1, 2)
    size = minutes * SEGMENTS
    vehicles = np.bincount(cells.cell, cells.vehicles, minlength=size)
    means = np.bincount(cells.cell, cells.speeds / cells.reports, minlength=size) / np.maximum(vehicles, 1)
    shape = (minutes, SEGMENTS)
    number = _five_before((vehicles > 0).astype(np.int64).reshape(shape))
    mean = _five_before(means.reshape(shape)) / np.maximum(number, 1) + float(more)
    lav = np.where(number > 0, np.floor(mean).astype(np.int64), UNKNOWN)
    # A mean of exactly 40 must not become 39: what is close to an integer is worked out in fractions.
    close = (number > 0) & (np.abs(mean - np.rint(mean)) < _CLOSE)
    exact = exact_means(cells, close)
    for minute, seg in np.argwhere(close).tolist():
        known = [exact[key] for back in range(1, LAV_MINUTES + 1) if (key := (minute - back) * SEGMENTS + seg) in exact]
        lav[minute, seg] = floor(sum(known, Fraction(0)) / len(known) + more)
    return lav


def exact_means(cells: Cells, close: Flags) -> dict[int, Fraction]:
    """The exact means of the minutes on which the marked ones depend."""
    needed = np.zeros_like(close)
    for back in range(1, LAV_MINUTES + 1):
        needed[:-back] |= close[back:]
    chosen = needed.ravel()[cells.cell]
    sums: dict[int, Fraction] = {}
    vehicles: dict[int, int] = {}
    columns = (cells.cell, cells.reports, cells.vehicles, cells.speeds)
    for cell, reports, count, speeds in zip(*(column[chosen].tolist() for column in columns), strict=True):
        sums[cell] = sums.get(cell, Fraction(0)) + Fraction(speeds, reports)
        vehicles[cell] = vehicles.get(cell, 0) + count
    return {cell: total / vehicles[cell] for cell, total in sums.items()}


def _lav_pooled(cells: Cells, minutes: int, profile: Profile) -> Ints:
    """Rule 1 of `walmart`: all reports of the five minutes together."""
    shape = (minutes, SEGMENTS)
    speeds, counts = np.zeros(minutes * SEGMENTS, np.int64), np.zeros(minutes * SEGMENTS, np.int64)
    np.add.at(speeds, cells.cell, cells.speeds)
    np.add.at(counts, cells.cell, cells.vehicles * cells.reports)
    total, number = _five_before(speeds.reshape(shape)), _five_before(counts.reshape(shape))
    divisor = np.maximum(number, 1)
    mean = total // divisor if profile.lav_rounding == "floor" else (2 * total + divisor) // (2 * divisor)
    return np.where(number > 0, mean, UNKNOWN)


def _five_before(table: NDArray[Any]) -> NDArray[Any]:
    """The sum of the up to five rows before each."""
    summed = np.zeros_like(table)
    for back in range(1, LAV_MINUTES + 1):
        summed[back:] += table[:-back]
    return summed


def _first_of_their_cell(chains: Chains, minutes: int) -> Ints:
    """Rule 5 of `walmart`: a hidden report that comes first in its minute and segment counts its vehicle."""
    shown, hidden = chains.reports, chains.hidden
    both = pl.DataFrame(
        {
            "time": np.concatenate([shown.time, hidden.time]),
            "line": np.concatenate([shown.line, hidden.line]),
            "vid": np.concatenate([shown.vid, hidden.vid]),
            "seg": np.concatenate([shown.seg, hidden.seg]),
            "hidden": np.repeat([False, True], [len(shown), len(hidden)]),
        }
    ).with_columns((pl.col("time").cast(pl.Int64) // MINUTE_SECONDS * SEGMENTS + pl.col("seg")).alias("cell"))
    suspects = both.filter(pl.col("hidden"))["cell"].unique()
    first = (
        both.filter(pl.col("cell").is_in(suspects.implode()))
        .sort("time", "line")
        .group_by("cell", maintain_order=True)
        .agg(
            pl.col("hidden").first().alias("first_hidden"),
            pl.col("vid").first(),
            pl.col("vid").filter(~pl.col("hidden")).alias("shown"),
        )
        # A vehicle that is counted anyway is not counted twice.
        .filter(pl.col("first_hidden") & ~pl.col("shown").list.contains(pl.col("vid")))
    )
    more = np.zeros(minutes * SEGMENTS, np.int64)
    np.add.at(more, first["cell"].to_numpy(), 1)
    return more
