"""Reports of one expressway and direction, each beside its predecessor (§3.2.1, the arrow over p).

All columns are sorted so that a report stands right behind its predecessor; a rule about two consecutive reports is
then a comparison of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from arterial.linearroad.formats.events import POSITION_REPORT
from arterial.linearroad.semantics.city import ENTRANCE_LANE, EXIT_LANE
from arterial.linearroad.semantics.profiles import Profile

# Integers, as wide as the input has them: arithmetic that could outgrow 16 or 32 bits says so.
Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Reports:
    """The columns that the rules need; `line` is the place in the input."""

    time: Ints
    vid: Ints
    speed: Ints
    lane: Ints
    seg: Ints
    pos: Ints
    line: Ints

    def __len__(self) -> int:
        return len(self.time)

    def take(self, places: NDArray[np.intp] | Flags) -> Reports:
        """Some of the reports, in the order of `places`."""
        return Reports(*(getattr(self, column.name)[places] for column in fields(self)))


REPORT_COLUMNS = ("time", "vid", "speed", "lane", "seg", "pos")


def read_reports(file: Path, direction: int, until: int | None = None) -> Reports:
    """The reports of one direction before the second `until` from a data set's file of an expressway."""
    reported = (pl.col("type") == POSITION_REPORT) & (pl.col("dir") == direction)
    if until is not None:
        reported &= pl.col("time") < until
    return reports_of(pl.scan_parquet(file).filter(reported).select(REPORT_COLUMNS).collect())


def reports_of(frame: pl.DataFrame) -> Reports:
    """Reports from their columns, in the order of the input."""
    time, vid, speed, lane, seg, pos = (frame[name].to_numpy() for name in REPORT_COLUMNS)
    return Reports(time, vid, speed, lane, seg, pos, np.arange(frame.height))


@dataclass(frozen=True)
class Chains:
    """Reports in the order of their trips; `follows` says that the report before is the predecessor."""

    reports: Reports
    follows: Flags
    # Reports that the profile ignores (rule 5 of `walmart`), in no chain.
    hidden: Reports

    @property
    def enters(self) -> Flags:
        """Rule 7: the first report of a trip from its segment."""
        return ~self.follows | _changed(self.reports.seg)

    @property
    def stays(self) -> Flags:
        """Rule 9: the same lane and position as the predecessor."""
        return self.follows & ~_changed(self.reports.lane) & ~_changed(self.reports.pos)


def chains(reports: Reports, profile: Profile) -> Chains:
    """Rule 8: each report behind its predecessor."""
    hidden = reports.take(np.array([], np.intp))
    if profile.exit_hides_vehicle or profile.chain_gap is None:
        reports = _by_vehicle(reports)
    if profile.exit_hides_vehicle:
        ignored = _after_exit(reports)
        hidden, reports = reports.take(ignored), reports.take(~ignored)
    if profile.chain_gap is not None:
        return _exact(reports, hidden, profile.chain_gap)
    return _whatever_gap(reports, hidden, profile)


def _exact(reports: Reports, hidden: Reports, gap: int) -> Chains:
    # One number for (vehicle, second modulo gap, place in the chain): a successor's is greater by exactly one.
    steps, phase = np.divmod(reports.time, gap)
    # One step more than there are keeps the last of a chain apart from the first of the next.
    length = int(steps.max(initial=0)) + 2
    key = (_codes(reports.vid, gap * length).astype(np.int64, copy=False) * gap + phase) * length + steps
    order = np.argsort(key, kind="stable")
    follows = np.zeros(len(key), bool)
    follows[1:] = np.diff(key[order]) == 1
    return Chains(reports.take(order), follows, hidden)


def _whatever_gap(ordered: Reports, hidden: Reports, profile: Profile) -> Chains:
    follows = ~_changed(ordered.vid)
    if profile.entrance_gap is not None:
        gap = np.diff(ordered.time, prepend=ordered.time[:1])
        follows &= ~((ordered.lane == ENTRANCE_LANE) & (gap > profile.entrance_gap))
    return Chains(ordered, follows, hidden)


def _by_vehicle(reports: Reports) -> Reports:
    """The reports of each vehicle in the order of time."""
    length = int(reports.time.max(initial=0)) + 1
    return reports.take(np.argsort(_codes(reports.vid, length) * length + reports.time, kind="stable"))


def _after_exit(ordered: Reports) -> Flags:
    """Rule 5 of `walmart`: the reports of a vehicle after one in lane 4, until one in lane 0."""
    # A stretch begins with a vehicle's first report and with each in lane 0; after its first exit all is hidden.
    exits = (ordered.lane == EXIT_LANE).astype(np.int64)
    earlier = np.cumsum(exits) - exits
    stretch = np.flatnonzero(_changed(ordered.vid) | (ordered.lane == ENTRANCE_LANE))
    lengths = np.diff(np.append(stretch, len(ordered)))
    return np.asarray(earlier > np.repeat(earlier[stretch], lengths))


def _codes(vid: Ints, room: int) -> Ints:
    """Vehicles as numbers that can be multiplied by `room`."""
    if int(vid.max(initial=0)) < 2**62 // room and int(vid.min(initial=0)) >= 0:
        return vid
    return np.unique(vid, return_inverse=True)[1].astype(np.int64)


def _changed(column: Ints) -> Flags:
    """Whether a value differs from the one before; the first does."""
    changed = np.ones(len(column), bool)
    changed[1:] = column[1:] != column[:-1]
    return changed
