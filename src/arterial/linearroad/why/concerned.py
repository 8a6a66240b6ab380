"""Of a data set only what can have changed the answers of one vehicle, judged by the validator's own functions.

That is: its own events; on each road that it reports from, everybody who reports from one of its segments in the five
minutes before it enters that; and everybody who stands still anywhere on that road. All reports of those vehicles are
taken, so that their trips are whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from arterial.linearroad.data.dataset import Data
from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.semantics.city import LAV_MINUTES, MINUTE_SECONDS, STOPPED_REPORTS
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.chains import REPORT_COLUMNS, reports_of
from arterial.linearroad.validate.expected.traffic import Parts, Road


@dataclass(frozen=True)
class Way:
    """One road that the vehicle reports from, with all that can have changed its answers there."""

    xway: int
    direction: int
    own: pl.DataFrame
    """The vehicle's own reports, in the order of time."""
    parts: Parts
    notices: pl.DataFrame
    alerts: pl.DataFrame
    credits: pl.DataFrame
    vehicles: int
    """How many vehicles were looked at."""


def events_of(data: Data, vid: int) -> pl.DataFrame:
    """All events of a vehicle, in the order of time."""
    parts = [
        pl.scan_parquet(file).filter(pl.col("vid") == vid).collect().cast(pl.Int64)
        for file in data.parquet_files.values()
    ]
    return pl.concat(parts).sort("time", maintain_order=True)


def ways_of(data: Data, events: pl.DataFrame, vid: int, profile: Profile) -> list[Way]:
    """The roads that a vehicle reports from."""
    reports = events.filter(pl.col("type") == POSITION_REPORT)
    roads = reports.select("xway", "dir").unique().sort("xway", "dir").rows()
    return [_way(data.parquet_files[xway], xway, direction, reports, vid, profile) for xway, direction in roads]


def _way(file: Path, xway: int, direction: int, reports: pl.DataFrame, vid: int, profile: Profile) -> Way:
    own = reports.filter((pl.col("xway") == xway) & (pl.col("dir") == direction))
    road = (
        pl.scan_parquet(file)
        .filter((pl.col("type") == POSITION_REPORT) & (pl.col("dir") == direction))
        .select(REPORT_COLUMNS)
        .collect()
    )
    minute = pl.col("time").cast(pl.Int64) // MINUTE_SECONDS
    asked = own.select(pl.col("seg").cast(road.schema["seg"]), minute.alias("minute")).unique()
    cells = pl.concat(
        [asked.select("seg", (pl.col("minute") - back).alias("minute")) for back in range(1, LAV_MINUTES + 1)]
    ).unique()
    near = road.select("vid", "seg", minute.alias("minute")).join(cells, on=["seg", "minute"], how="semi")["vid"]
    still = road.group_by("vid", "lane", "pos").len().filter(pl.col("len") >= STOPPED_REPORTS)["vid"]
    concerned = pl.concat([near, still, pl.Series("vid", [vid], dtype=near.dtype)]).unique()
    chosen = road.filter(pl.col("vid").is_in(concerned.implode()))
    found = Road(reports_of(chosen), xway, direction)
    caused = found.traffic(profile)
    notices, alerts, credits = (
        frame.filter(pl.col("vid") == vid) for frame in (caused.notices, caused.alerts, caused.credits)
    )
    return Way(xway, direction, own, found.parts(profile), notices, alerts, credits, len(concerned))
