"""Segment statistics over pooled reports, for the profiles whose velocity is one mean over five minutes' reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.linearroad.city import LAV_MINUTES
from arterial.linearroad.kernels import chunks
from arterial.linearroad.kernels.compiled import Array
from arterial.linearroad.kernels.statistics import NO_LAV, Levels, grown
from arterial.linearroad.profiles import Profile
from arterial.network.state import State


@dataclass(frozen=True)
class Minute:
    """The sums of a minute by cell; whoever has it fills it in place."""

    cars: Array
    reports: Array
    speeds: Array

    def write(self, state: State, table: str, key: str, minute: int) -> None:
        """Keep it, as the minute under way or in the ring of those before."""
        chunks.write(state, table, key, minute, {"cars": self.cars, "reports": self.reports, "speeds": self.speeds})


def open_minute(state: State, minute: int, cells: int, profile: Profile) -> tuple[Minute, Levels | None]:
    """The sums of a minute so far, to be filled; if it only begins, the levels that hold in it."""
    chunk = chunks.read(state, "minute")
    if chunk is not None and chunks.stamp_of(chunk) == minute:
        return Minute(*(grown(chunk[name], cells) for name in NAMES)), None
    if chunk is not None:
        before = chunks.stamp_of(chunk)
        Minute(*(chunk[name] for name in NAMES)).write(state, "history", chunks.slot(before, LAV_MINUTES), before)
    return Minute(*(np.zeros(cells, np.int32) for _ in NAMES)), _levels(state, minute, cells, profile)


def _levels(state: State, minute: int, cells: int, profile: Profile) -> Levels:
    cars = np.zeros(cells, np.int32)
    reports, speeds = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    for back in range(1, LAV_MINUTES + 1):
        chunk = chunks.read_of(state, "history", chunks.slot(minute - back, LAV_MINUTES), minute - back)
        if chunk is not None:
            reports[: chunk["reports"].size] += chunk["reports"]
            speeds[: chunk["speeds"].size] += chunk["speeds"]
            if back == 1:
                cars = grown(chunk["cars"], cells)
    counted = np.maximum(reports, 1)
    mean = speeds // counted if profile.lav_rounding == "floor" else (2 * speeds + counted) // (2 * counted)
    return Levels(minute, np.where(reports > 0, mean, NO_LAV).astype(np.int16), cars)


NAMES = ("cars", "reports", "speeds")
