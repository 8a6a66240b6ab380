"""What a Spark task does with one expressway: simulate it into a spool, and, once its trips have vehicles, write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from arterial.linearroad.formats.events import (
    BALANCE_REQUEST,
    EVENT_SCHEMA,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
)
from arterial.linearroad.semantics.city import EAST, SEGMENT_FEET, SEGMENTS, WEST
from arterial.linearroad.simulate.events import Expressway, event_groups
from arterial.linearroad.simulate.model.road import Log, Reports
from arterial.linearroad.simulate.model.traffic import Traffic
from arterial.linearroad.simulate.model.trips import Trips, make_trips
from arterial.linearroad.simulate.progress import Said
from arterial.linearroad.simulate.settings import Settings
from arterial.linearroad.simulate.spool import no_reports, read_reports, spool_reports
from arterial.linearroad.simulate.vehicles import Journeys

COMPRESSION = "zstd"
_COUNTED = {
    "reports": POSITION_REPORT,
    "balance_requests": BALANCE_REQUEST,
    "expenditure_requests": EXPENDITURE_REQUEST,
    "travel_time_requests": TRAVEL_TIME_REQUEST,
}


@dataclass(frozen=True)
class Accident:
    """An accident, in the seconds of the data; `cleared` is when both vehicles may drive on."""

    xway: int
    dir: int
    seg: int
    time: int
    cleared: int


def simulate_expressway(settings: Settings, xway: int, spool: Path) -> list[Accident]:
    """Drive both directions through time, one after the other; the reports and the journeys are left in `spool`."""
    trips = make_trips(settings, xway)
    log = Log.empty(len(trips))
    accidents: list[Accident] = []
    said = Said(spool / "progress")
    spool.mkdir(parents=True, exist_ok=True)
    for direction in settings.directions(xway):
        traffic = Traffic.begin(settings, xway, direction, trips, log)
        spool_reports(spool / f"dir-{direction}", _reports_of_data(traffic, said))
        accidents += _accidents_of(settings, traffic, xway, direction)
    np.savez(spool / "journeys.npz", **_journeys(xway, trips, log)._asdict())
    return accidents


def write_expressway(
    settings: Settings, xway: int, spool: Path, target: Path, seconds_a_group: int | None = None
) -> dict[str, int]:
    """Write the events of a simulated expressway as Parquet; returns how many there are of each type."""
    silent = no_reports(settings.seconds)
    reports = {direction: read_reports(spool / f"dir-{direction}") for direction in settings.directions(xway)}
    expressway = Expressway(
        xway,
        settings.expressways,
        settings.seed,
        reports.get(EAST, silent),
        reports.get(WEST, silent),
        np.load(spool / "vehicle.npy"),
    )
    counts = dict.fromkeys(_COUNTED, 0)
    said = Said(spool / "progress")
    with pq.ParquetWriter(
        target,
        EVENT_SCHEMA,
        compression=COMPRESSION,
        compression_level=1,
        use_dictionary=["type", "xway", "lane", "dir", "seg", "speed", "time", "sinit", "send", "dow", "tod", "day"],
        write_statistics=["time"],
    ) as writer:
        for group in event_groups(expressway, seconds_a_group):
            writer.write_table(group)
            kinds = np.bincount(group["type"].to_numpy(), minlength=max(_COUNTED.values()) + 1)
            for name, kind in _COUNTED.items():
                counts[name] += int(kinds[kind])
            said.advance(group.num_rows)
    return counts


def read_journeys(spool: Path) -> Journeys:
    """What became of the trips of a simulated expressway."""
    with np.load(spool / "journeys.npz") as saved:
        return Journeys(**saved)


def _reports_of_data(traffic: Traffic, said: Said) -> Iterable[Reports]:
    for second, reports in traffic.drive():
        said.advance(len(reports.until))
        if second >= traffic.settings.start_at:
            yield reports


def _accidents_of(settings: Settings, traffic: Traffic, xway: int, direction: int) -> Iterator[Accident]:
    due = traffic.accidents
    for happened, lasts, place in zip(due.happened, due.lasts, due.place, strict=True):
        segment = int(place) // SEGMENT_FEET
        if happened >= 0 and happened + lasts > settings.start_at:
            yield Accident(
                xway,
                direction,
                SEGMENTS - 1 - segment if direction == WEST else segment,
                int(happened) - settings.start_at,
                int(happened + lasts) - settings.start_at,
            )


def _journeys(xway: int, trips: Trips, log: Log) -> Journeys:
    left_at = np.where((trips.direction == WEST) & (log.left_at >= 0), SEGMENTS - 1 - log.left_at, log.left_at)
    number: NDArray[np.int32] = np.full(len(trips), xway, np.int32)
    return Journeys(log.began, log.ended, number, trips.entrance, left_at.astype(np.int16))
