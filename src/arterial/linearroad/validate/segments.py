"""The statistics of the segments of one expressway and direction, minute by minute (§3.2.1, table 2; rules 1–6).

A table has a row a minute and a column a segment. Minute M(t) is row t // 60, so row 0 is the first minute.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import polars as pl

from arterial.linearroad.city import LAV_MINUTES, MINUTE_SECONDS, SEGMENTS
from arterial.linearroad.profiles import Profile
from arterial.linearroad.validate.chains import Chains, Ints

UNKNOWN = -1


def segment_tables(chains: Chains, minutes: int, profile: Profile) -> tuple[Ints, Ints]:
    """The LAV of every minute and segment (UNKNOWN if nobody reported before), and the cars of that same minute."""
    reports = chains.reports
    seen = (
        pl.DataFrame(
            {
                "vid": reports.vid,
                "cell": reports.time // MINUTE_SECONDS * SEGMENTS + reports.seg,
                "speed": reports.speed,
            }
        )
        .group_by("vid", "cell")
        .agg(pl.col("speed").sum().alias("sum"), pl.len().cast(pl.Int64).alias("reports"))
    )
    # All that the means need: how many vehicles of a cell reported how often, and the sum of their speeds.
    cells = seen.group_by("cell", "reports").agg(pl.col("sum").sum(), pl.len().cast(pl.Int64).alias("vehicles"))
    cars = np.zeros(minutes * SEGMENTS, np.int64)
    np.add.at(cars, cells["cell"].to_numpy(), cells["vehicles"].to_numpy())
    if len(chains.hidden):
        cars += _first_of_their_cell(chains, minutes)
    lav = (
        _lav_of_means(cells, minutes) if profile.lav_mean == "of_minute_means" else _lav_pooled(cells, minutes, profile)
    )
    return lav, cars.reshape(minutes, SEGMENTS)


def toll_table(lav: Ints, cars: Ints, profile: Profile) -> Ints:
    """Rule 6 but for accidents: the toll of every minute and segment."""
    before = np.zeros_like(cars)
    before[1:] = cars[:-1]
    charged = (lav != UNKNOWN) & (lav < profile.toll_lav_below)
    if profile.toll_needs_more_cars:
        charged &= before > profile.toll_free_cars
    return np.where(charged, profile.base_toll * (before - profile.toll_free_cars) ** 2, 0)


def _lav_of_means(cells: pl.DataFrame, minutes: int) -> Ints:
    """Rules 1–3 in exact fractions: a mean of exactly 40 must not become 39."""
    sums: dict[int, Fraction] = {}
    vehicles: dict[int, int] = {}
    for cell, reports, total, count in cells.select("cell", "reports", "sum", "vehicles").iter_rows():
        sums[cell] = sums.get(cell, Fraction(0)) + Fraction(total, reports)
        vehicles[cell] = vehicles.get(cell, 0) + count
    means = {cell: total / vehicles[cell] for cell, total in sums.items()}
    lav = np.full(minutes * SEGMENTS, UNKNOWN, np.int64)
    later = {cell + SEGMENTS * ahead for cell in means for ahead in range(1, LAV_MINUTES + 1)}
    for cell in later:
        if cell < len(lav):
            known = [
                means[cell - SEGMENTS * back] for back in range(1, LAV_MINUTES + 1) if cell - SEGMENTS * back in means
            ]
            lav[cell] = floor(sum(known) / len(known))
    return lav.reshape(minutes, SEGMENTS)


def _lav_pooled(cells: pl.DataFrame, minutes: int, profile: Profile) -> Ints:
    """Rule 1 of `walmart`: all reports of the five minutes together."""
    shape = (minutes, SEGMENTS)
    speeds, counts = np.zeros(minutes * SEGMENTS, np.int64), np.zeros(minutes * SEGMENTS, np.int64)
    np.add.at(speeds, cells["cell"].to_numpy(), cells["sum"].to_numpy())
    np.add.at(counts, cells["cell"].to_numpy(), (cells["vehicles"] * cells["reports"]).to_numpy())
    total, number = _five_before(speeds.reshape(shape)), _five_before(counts.reshape(shape))
    divisor = np.maximum(number, 1)
    mean = total // divisor if profile.lav_rounding == "floor" else (2 * total + divisor) // (2 * divisor)
    return np.where(number > 0, mean, UNKNOWN)


def _five_before(table: Ints) -> Ints:
    """The sum of the up to five rows before each."""
    summed = np.zeros((len(table) + 1, table.shape[1]), np.int64)
    np.cumsum(table, axis=0, out=summed[1:])
    rows = np.arange(len(table))
    return summed[rows] - summed[np.maximum(rows - LAV_MINUTES, 0)]


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
    ).with_columns((pl.col("time") // MINUTE_SECONDS * SEGMENTS + pl.col("seg")).alias("cell"))
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
